package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// demoRun is a running `starter demo` with a folder for temporary files of its own. The environment variable in mark is
// in the environment of all processes of the demo, so that the test can find them.
type demoRun struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *world.Process // standard error, which the user reads
	stdout world.Printed
	tmp    string
	mark   string
}

func startDemo(t *testing.T, dir string, env []string, args ...string) *demoRun {
	d := &demoRun{t: t, tmp: t.TempDir()}
	d.mark = "TMPDIR=" + d.tmp // every process of the demo inherits it
	d.cmd = exec.Command(world.Binary("starter"), append([]string{"demo", "--json"}, args...)...)
	d.cmd.Dir = dir
	d.cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "OPENAI_") })
	d.cmd.Env = append(append(d.cmd.Env, d.mark), env...)
	d.cmd.Stdout = &d.stdout
	var err error
	d.out, err = world.StartProcess(d.cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		d.out.Kill()
		if t.Failed() {
			t.Log(d.out.Output())
		}
	})
	return d
}

// end waits until the demo has ended, and returns its exit code.
func (d *demoRun) end() int {
	d.t.Helper()
	world.Eventually(d.t, "the demo ends", d.out.Ended)
	return d.cmd.ProcessState.ExitCode()
}

// says waits until the demo has printed a text for the user.
func (d *demoRun) says(text string) {
	d.t.Helper()
	world.Eventually(d.t, "the demo says "+text, func() bool {
		if d.out.Ended() && !strings.Contains(d.out.Output(), text) {
			require.FailNow(d.t, "the demo ended", d.out.Output())
		}
		return strings.Contains(d.out.Output(), text)
	})
}

// processes returns the command lines of the demo's processes that are still running.
func (d *demoRun) processes() []string {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(d.t, err)
	var found []string
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(d.mark)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // empty if the process has ended meanwhile
		found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// leavesNothing asserts that no process of the demo is running, and that no temporary file is left.
func (d *demoRun) leavesNothing() {
	d.t.Helper()
	if runtime.GOOS == "linux" {
		require.Empty(d.t, d.processes())
	}
	left, err := os.ReadDir(d.tmp)
	require.NoError(d.t, err)
	require.Empty(d.t, left)
}

// demoSummary is what `starter demo --json` prints.
type demoSummary struct {
	ID      string                                           `json:"id"`
	Status  string                                           `json:"status"`
	Answer  string                                           `json:"answer"`
	WebUI   string                                           `json:"web_ui"`
	StandIn bool                                             `json:"stand_in"`
	Model   struct{ Requests, Keys, Answered, Repeated int } `json:"model_requests"`
	Publish effects
	Measure effects
	Workers []int `json:"workers"`
	Killed  int   `json:"killed"`

	FirstMessage int `json:"first_message_ms"`
	Repeated     int `json:"repeated"`
}

type effects struct {
	Calls    int `json:"tool_calls"`
	Keys     int
	Repeated int
}

func (d *demoRun) summary() demoSummary {
	d.t.Helper()
	var s demoSummary
	world.Eventually(d.t, "the summary is printed", func() bool { return json.Unmarshal([]byte(d.stdout.Output()), &s) == nil })
	return s
}

// The demo kills its worker while a tool runs. The agent completes, and nothing that must happen only once is repeated.
// No process and no file is left.
func TestDemoSurvivesTheKillAndLeavesNothing(t *testing.T) {
	d := startDemo(t, world.Path(), nil)
	require.Zero(t, d.end())
	s := d.summary()
	require.Equal(t, "completed", s.Status)
	require.True(t, s.StandIn)
	require.Contains(t, s.Answer, "README.md begins with “# Reagent ")
	require.Contains(t, s.Answer, "Published as note 1.")
	require.Equal(t, struct{ Requests, Keys, Answered, Repeated int }{6, 6, 6, 0}, s.Model)
	require.Equal(t, effects{1, 1, 0}, s.Publish, "the effect happens once")
	require.Equal(t, effects{2, 1, 1}, s.Measure, "what only reads runs again, under its key")
	require.Len(t, s.Workers, 2)
	require.Equal(t, s.Workers[0], s.Killed)
	require.Zero(t, s.Repeated)
	t.Logf("first message after %d ms", s.FirstMessage)

	said := d.out.Output()
	require.Contains(t, said, "stand-in")
	require.Contains(t, said, fmt.Sprintf("kill -9 %d", s.Killed))
	require.Contains(t, said, "reader     read_file {", "the sub-agent is heard")
	require.Contains(t, said, s.WebUI)
	require.NotContains(t, said, "\x1b", "no control sequences")
	d.leavesNothing()
}

func TestInterruptedDemoLeavesNothing(t *testing.T) {
	for _, at := range []string{"✓ Tools", "✓ Temporal", "✓ Agent", "✗ kill -9"} {
		t.Run(at, func(t *testing.T) {
			d := startDemo(t, world.Path(), nil)
			d.says(at)
			require.NoError(t, d.cmd.Process.Signal(syscall.SIGINT))
			require.Equal(t, 130, d.end(), d.out.Output())
			require.Contains(t, d.out.Output(), `{"type":"error","error":"interrupted","exit_code":130,`)
			d.leavesNothing()
		})
	}
}

// If the demo itself is killed with SIGKILL, the processes that it started end, too.
func TestKilledDemoLeavesNoProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc to find processes")
	}
	d := startDemo(t, world.Path(), nil)
	d.says("✓ Agent")
	want := 3 // the demo, the server, the worker
	if os.Geteuid() != 0 {
		want = 2 // only root can read the environment of the worker
	}
	require.GreaterOrEqual(t, len(d.processes()), want)
	d.out.Kill()
	world.Eventually(t, "all are gone", func() bool { return len(d.processes()) == 0 })
}

// demoAddress returns the address of the demo's Temporal server. It finds the address in the output of the demo.
func demoAddress(t *testing.T, d *demoRun) string {
	_, rest, ok := strings.Cut(d.out.Output(), "✓ Temporal  ")
	require.True(t, ok, d.out.Output())
	address, _, ok := strings.Cut(rest, "\n")
	require.True(t, ok)
	return address
}

// The demo works when the usual port of Temporal is taken, and in a folder that is not part of this project.
func TestDemoFindsFreePortsInAnyFolder(t *testing.T) {
	// The test takes the port, or another program has it already.
	if l, err := net.Listen("tcp", "127.0.0.1:7233"); err == nil {
		defer l.Close()
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.txt"), []byte("Pears are green. Plums are blue. Figs are not here.\n"), 0o600))
	d := startDemo(t, dir, nil)
	require.Zero(t, d.end())
	s := d.summary()
	require.Equal(t, "completed", s.Status)
	require.Contains(t, s.Answer, "README.txt begins with “Pears are green. Plums are blue.")
	require.Contains(t, s.Answer, "Files and folders here: 1.")
	require.Equal(t, 1, s.Publish.Calls)
	require.Zero(t, s.Repeated)
	require.NotEqual(t, "127.0.0.1:7233", demoAddress(t, d))
	d.leavesNothing()
}

func TestDemoSaysWhatToDoInAFolderWithoutFiles(t *testing.T) {
	d := startDemo(t, t.TempDir(), nil)
	require.Equal(t, 1, d.end())
	require.Contains(t, d.out.Output(), "the current folder has no files that the demo's agent could read: run the demo in another folder")
	d.leavesNothing()
}

// The demo uses the model that the environment variables name. If this model never calls the tool measure, the demo
// kills no worker, and says so.
func TestDemoAsksTheModelOfTheEnvironment(t *testing.T) {
	model := (&standin.Endpoint{Client: llmtest.Script(llmtest.Say("I know that without looking."))}).Serve()
	defer model.Close()
	d := startDemo(t, world.Path(), []string{"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=sk-demo-key", "OPENAI_MODEL=mine"})
	require.Zero(t, d.end())
	s := d.summary()
	require.False(t, s.StandIn)
	require.Equal(t, "I know that without looking.", s.Answer)
	require.Equal(t, 1, s.Model.Answered)
	require.Zero(t, s.Killed)
	require.Contains(t, d.out.Output(), "No worker was killed: the model did not call measure.")
	require.NotContains(t, d.out.Output(), "sk-demo-key")
	require.Len(t, model.Requests(), 1)
	request := model.Requests()[0]
	require.Equal(t, "mine", request.Request.Candidates[0].Model)
	require.Equal(t, "Bearer sk-demo-key", request.Header.Get("Authorization"))
	d.leavesNothing()
}
