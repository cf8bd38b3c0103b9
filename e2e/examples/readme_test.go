package examples_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// block is a fenced block of a Markdown file. Its opening line has the language. Behind the language stands the name of
// a test or of the file from which the block is copied.
type block struct{ lang, test, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)(?: ([^\n]*))?\n(.*?)^```$")

func readmeBlocks(t *testing.T) []block {
	data, err := os.ReadFile(world.Path("README.md"))
	require.NoError(t, err)
	var blocks []block
	for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, block{m[1], m[2], m[3]})
	}
	require.Equal(t, strings.Count(string(data), "\n```"), 2*len(blocks), "a fence that is not closed")
	return blocks
}

// readmeBlock returns the text of the README's block with the given name of a test. There must be exactly one such
// block.
func readmeBlock(t *testing.T, test string) string {
	var found []string
	for _, b := range readmeBlocks(t) {
		if b.test == test {
			found = append(found, b.text)
		}
	}
	require.Len(t, found, 1, test)
	return found[0]
}

// Every block of the README is tested. Apart from the example of a configuration, no block has more than 10 lines.
func TestReadmeBlocksAreTestedAndShort(t *testing.T) {
	for _, b := range readmeBlocks(t) {
		switch b.test {
		case "first", "dev", "worker", "run", "chat", "approve", "models", "cloud":
		case "":
			require.Equal(t, "yaml", b.lang, b.text) // the example of a configuration, which package config tests
			continue
		default:
			require.FileExists(t, world.Path(b.test))
		}
		require.LessOrEqual(t, strings.Count(b.text, "\n"), 10, b.text)
	}
}

// The code that the README shows is also in the programs and configurations of examples/, which have tests of their
// own.
func TestReadmeShowsTheExamplesAsTheyAre(t *testing.T) {
	shown := 0
	for _, b := range readmeBlocks(t) {
		if !strings.HasPrefix(b.test, "examples/") {
			continue
		}
		shown++
		file, err := os.ReadFile(world.Path(b.test))
		require.NoError(t, err)
		rest := unindented(string(file))
		for _, part := range regexp.MustCompile(`(?m)^(//|#) …\n`).Split(b.text, -1) {
			before, after, found := strings.Cut(rest, unindented(part))
			require.True(t, found, "not in %s, or not in this order:\n%s", b.test, part)
			require.True(t, before == "" || strings.HasSuffix(before, "\n"))
			rest = after
		}
	}
	require.Equal(t, 5, shown)
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// The commands of the README's walk-through work exactly as they are written there. The model is a scripted one.
func TestReadmeWalkthroughWorks(t *testing.T) {
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "list_files", `{"path":"."}`)),
		llmtest.Say("There are several."), llmtest.Say("The tests."), llmtest.Say("Les tests."),
	), nil, "")
	w.Queue = "agents"
	configure(w, "examples/agents.yaml", "files_root: ..", "files_root: "+world.Path())

	worker := shell(w, readmeBlock(t, "worker"))
	w.Eventually("the worker serves", func() bool {
		require.False(t, worker.Ended(), "%s", worker.Output())
		return strings.Contains(worker.Output(), "Ready.")
	})
	talk := shell(w, readmeBlock(t, "run"))
	w.Eventually("the commands have ended", talk.Ended)
	require.Zero(t, talk.Cmd.ProcessState.ExitCode(), "%s", talk.Output())
	require.Regexp(t, `(?s)> Which packages.*list_files.*There are several\..*> What does the Makefile.*The tests\..*talk  assistant.*Les tests\.`, talk.Output())
	w.Eventually("the chat is closed", func() bool { return w.Show("talk").Status == "completed" })

	chat := shell(w, "export REAGENT_CONFIG=examples/agents.yaml\necho Hello | "+readmeBlock(t, "chat"))
	w.Eventually("the conversation has ended", chat.Ended)
	require.Zero(t, chat.Cmd.ProcessState.ExitCode(), "%s", chat.Output())
	require.Contains(t, chat.Output(), "There are several.\n")
}

// The README's commands for approvals work exactly as they are written there.
func TestReadmeApprovalWorks(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    tools: [far.*]\n    approval: {default: destructive}\n")
	w.Worker()
	for _, id := range []string{"order-7", "order-8"} {
		w.Must("run", "--detach", "--id", id, "pay")
		w.Eventually("the call waits", func() bool {
			calls, err := w.Client.Pending(t.Context(), id)
			require.NoError(t, err)
			return len(calls) == 1
		})
	}
	decide := shell(w, readmeBlock(t, "approve"))
	w.Eventually("the commands have ended", decide.Ended)
	require.Zero(t, decide.Cmd.ProcessState.ExitCode(), "%s", decide.Output())
	require.Regexp(t, `(?s)order-7 .*pay \{"n":1\}.*order-8 .*Approved \w+ pay.*Denied \w+ pay`, decide.Output())
	for id, result := range map[string]string{"order-7": `did {"n":1}`, "order-8": "denied: a person refused this call: too expensive"} {
		w.Finished(id, "done")
		require.Contains(t, w.Show(id).Lines(), "tool: "+result)
	}
	require.Len(t, tools.Effects(), 1)
}

// shell starts bash with commands of the README. It replaces `go run` with the programs that the tests have built, and
// the configuration of the example with that of w.
func shell(w *world.World, commands string) *world.Process {
	for _, r := range [][2]string{
		{"go run ./cmd/worker", "exec " + world.Binary("worker")},
		{"go run ./cmd/starter", world.Binary("starter")},
		{"examples/agents.yaml", w.Config},
	} {
		commands = strings.ReplaceAll(commands, r[0], r[1])
	}
	cmd := exec.Command("bash", "-eu", "-c", commands)
	cmd.Dir = world.Path()
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+world.Server.Address())
	p, err := world.StartProcess(cmd)
	require.NoError(w.T, err)
	w.T.Cleanup(p.Kill)
	return p
}

// Every starter command that the README runs exists.
func TestReadmeCommandsExist(t *testing.T) {
	w := &world.World{T: t}
	for _, b := range readmeBlocks(t) {
		for _, m := range regexp.MustCompile(`(?m)^go run ./cmd/starter (\S+)`).FindAllStringSubmatch(b.text, -1) {
			out, errs, code := w.Starter(m[1], "--help")
			require.Zero(t, code, errs)
			require.Contains(t, out, "starter "+m[1], "not the command's own help")
		}
	}
	require.Contains(t, readmeBlock(t, "first"), "\ngo test ./...")
}

// The models that the README shows are a valid configuration.
func TestReadmeModelsAreValid(t *testing.T) {
	yaml := readmeBlock(t, "models") + "agents:\n"
	for _, name := range []string{"main", "claude", "local", "router", "azure"} {
		yaml += fmt.Sprintf("  a-%s: {model: %s}\n", name, name)
	}
	cfg, err := config.Parse("agents.yaml", []byte(yaml))
	require.NoError(t, err)
	require.Len(t, cfg.Models, 5)
	require.Equal(t, config.DefaultBaseURL, cfg.Models["main"].BaseURL)
	require.Empty(t, cfg.Models["local"].APIKeyEnv)
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY"} {
		t.Setenv(name, "k")
	}
	require.NoError(t, cfg.CheckEnvironment())
}

// With the environment variables that the README shows, the Temporal client uses TLS and an API key for Temporal Cloud.
func TestReadmeReachesTemporalCloud(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)=(\S+)`).FindAllStringSubmatch(readmeBlock(t, "cloud"), -1) {
		t.Setenv(m[1], m[2])
	}
	o, err := config.ClientOptions("", "")
	require.NoError(t, err)
	require.Equal(t, "us-east-1.aws.api.temporal.io:7233", o.HostPort)
	require.Equal(t, "your-namespace.a1b2c", o.Namespace)
	require.NotNil(t, o.ConnectionOptions.TLS)
	require.NotNil(t, o.Credentials)
}

// Every file and folder to which the documents link exists.
func TestDocumentsPointAtFilesThatExist(t *testing.T) {
	files, err := filepath.Glob(world.Path("examples/*/README.md"))
	require.NoError(t, err)
	require.Len(t, files, 8)
	for _, file := range append(files, world.Path("README.md"), world.Path("docs/operations.md")) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(data), -1) {
			require.FileExists(t, existing(filepath.Join(filepath.Dir(file), m[1])), "%s points at %s", file, m[1])
		}
		for _, m := range regexp.MustCompile(`[^.](\./(?:cmd|examples)/[\w/]+)`).FindAllStringSubmatch(string(data), -1) {
			require.DirExists(t, world.Path(m[1]), "%s names %s", file, m[1])
		}
	}
	picture, err := os.Stat(world.Path("docs/images/webui.png"))
	require.NoError(t, err)
	require.Less(t, picture.Size(), int64(300_000), "a page that loads at once")
}

// existing returns the file that must exist if a document links to path. This is path itself or, for a folder, the
// README.md in it.
func existing(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "README.md")
	}
	return path
}
