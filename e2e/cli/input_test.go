package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The tests in this file make common mistakes, and look at the messages of worker and starter.

func TestWorkerSaysWhatIsWrongWithItsConfiguration(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	const models = "models:\n  main: {model: m, base_url: \"http://127.0.0.1:1/v1\"}\n"
	for name, c := range map[string]struct{ yaml, env, want string }{
		"unknown tool":           {models + "agents:\n  x: {model: main, tools: [calculater]}\n", "", "calculater"},
		"unknown model":          {"models:\n  main: {model: m, base_url: \"http://x/v1\"}\nagents:\n  x: {model: big}\n", "", "agents.x.model"},
		"unknown key":            {models + "agents:\n  x: {model: main, tool: [calculator]}\n", "", "agents.yaml:4"},
		"no API key":             {"models:\n  main: {model: m, api_key_env: NO_SUCH_KEY}\nagents:\n  x: {model: main}\n", "", "NO_SUCH_KEY"},
		"MCP command not found":  {models + "mcp_servers:\n  files: {command: [no-such-program]}\nagents:\n  x: {model: main, tools: [files.*]}\n", "", "no-such-program"},
		"MCP server not there":   {models + "mcp_servers:\n  files: {url: \"http://127.0.0.1:1/mcp\"}\nagents:\n  x: {model: main, tools: [files.*]}\n", "", "files"},
		"tool not on the server": {models + "mcp_servers:\n  far: {url: \"" + tools.URL + "\"}\nagents:\n  x: {model: main, tools: [far.write]}\n", "", "far.write"},
		"two tools of one name":  {models + "mcp_servers:\n  far: {url: \"" + tools.URL + "\"}\n  near: {url: \"" + tools.URL + "\"}\nagents:\n  x: {model: main, tools: [far.*, near.*]}\n", "", "prefix"},
		"no Temporal":            {models + "agents:\n  x: {model: main}\n", "127.0.0.1:1", "no Temporal at 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world.World{T: t}
			w.WriteConfig(c.yaml)
			cmd := w.Command("worker", "--config", w.Config)
			if c.env != "" {
				cmd.Env = append(cmd.Env, "TEMPORAL_ADDRESS="+c.env)
			}
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "the worker ended")
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			require.Contains(t, string(out), c.want)
			require.NotContains(t, string(out), "panic")
		})
	}
}

func TestStarterSaysWhatIsWrong(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("hello")), nil, "")
	w.Worker()
	big := strings.Repeat("x", 10_000_000)
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		want  string
	}{
		"no Temporal":         {"", []string{"list", "--address", "127.0.0.1:1"}, 5, "no Temporal at 127.0.0.1:1"},
		"no configuration":    {"", []string{"run", "--config", "/nowhere/agents.yaml", "hi"}, 2, "--config"},
		"unknown agent":       {"", []string{"run", "-a", "nobody", "hi"}, 2, `no agent "nobody"`},
		"no such agent":       {"", []string{"show", "no-such-agent"}, 4, `there is no agent with ID "no-such-agent"`},
		"send to none":        {"", []string{"send", "no-such-agent", "hi"}, 4, `there is no agent with ID "no-such-agent"`},
		"nothing to say":      {"", []string{"run", " "}, 2, "is empty"},
		"a message too large": {big, []string{"run", "-"}, 2, "the limit is 1 MiB"},
		"an ID with a space":  {"", []string{"run", "--id", "a b", "hi"}, 2, "has a space or a character other than printable ASCII"},
		"an unknown command":  {"", []string{"shwo"}, 2, "show"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := w.StarterWith(c.stdin, c.args...)
			require.Equal(t, c.code, code, out+errs)
			require.Contains(t, errs, c.want)
			require.Less(t, len(errs), 2000)
		})
	}
}

// If a worker does not know the name of the agent, `starter run` says so at once, and says how to cancel the agent. The
// usual cause is a mistyped name.
func TestUnknownAgentIsTold(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("hello")), nil, "")
	w.Worker()
	other := &world.World{T: t}
	other.WriteConfig("task_queue: " + w.Queue + "\nmodels:\n  main: {model: m, base_url: \"http://x/v1\"}\nagents:\n  y: {model: main}\n")
	run := other.Start("starter", "run", "--id", t.Name(), "hi")
	w.Eventually("the starter says so", func() bool {
		return strings.Contains(run.Output(), `there is no agent "y" on this worker, which serves x`)
	})
	require.Contains(t, run.Output(), "starter cancel "+t.Name())
	bounded := t.Name() + "-bounded"
	out, errs, code := other.Starter("run", "--wait", "3s", "--id", bounded, "hi")
	require.Equal(t, 5, code, "%s%s", out, errs)
	require.Contains(t, errs, `there is no agent "y" on this worker, which serves x; correct the name, or add the agent to the configuration of the workers. No other worker has taken the work for 3s; agent `+bounded+" goes on")
	require.NotContains(t, errs, "the model")
	w.Must("cancel", bounded)
	w.Eventually("show says so", func() bool { return strings.Contains(w.Must("show", t.Name()), `there is no agent "y"`) })
	w.Must("cancel", t.Name())
	w.Eventually("it ends", run.Ended)
	require.Equal(t, 1, strings.Count(run.Output(), "there is no agent"), "once: "+run.Output())
	require.Equal(t, "cancelled", w.Show(t.Name()).Status)
}

// A new agent may be rolled out worker by worker. A worker that does not have it yet cannot start it, so the start is
// retried until another worker can.
func TestRolloutWorkerByWorker(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Script(llmtest.Say("hello")), nil, "")
	old := *w
	old.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  before: {model: main}\n", w.Queue, w.Model.URL))
	old.Worker()
	ids := make([]string, 20)
	start := func(i int) {
		ids[i] = fmt.Sprint(t.Name(), i)
		_, err := w.Client.Start(t.Context(), reagent.StartOptions{ID: ids[i], Agent: "x", Message: "hi"})
		require.NoError(t, err)
	}
	// When the first agents start, only the worker without their definition is running.
	for i := range 5 {
		start(i)
	}
	w.Eventually("the definition is asked for in vain", func() bool {
		s, err := w.Client.Show(t.Context(), ids[4])
		return err == nil && s.Retry != nil
	})
	w.Worker()
	for i := 5; i < len(ids); i++ {
		start(i)
	}
	for _, id := range ids {
		w.Finished(id, "hello")
	}
	w.NothingTwice()
}

// A worker that starts prints a warning if another worker defines its agents differently. A new agent may get either
// definition.
func TestWorkersWithOtherDefinitionsAreTold(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Script(llmtest.Say("hello")), nil, "")
	w.Worker()
	w.Eventually("the worker polls", func() bool {
		found, err := w.Temporal.DescribeTaskQueue(t.Context(), w.Queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		return err == nil && len(found.GetPollers()) > 0
	})
	const warning = "defines its agents differently"
	require.NotContains(t, w.Worker().Output(), warning)
	other := *w
	other.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main, instructions: Be brief.}\n", w.Queue, w.Model.URL))
	require.Contains(t, other.Worker().Output(), warning)
}

func TestNobodyServesTheQueue(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("hello")), nil, "")
	run := w.Start("starter", "run", "--id", t.Name(), "hi")
	w.Eventually("the starter says so", func() bool { return strings.Contains(run.Output(), "No worker has answered yet") })
	w.Worker()
	w.Eventually("and goes on when one is up", run.Ended)
	require.Contains(t, run.Output(), "hello")
	require.Equal(t, 0, run.Cmd.ProcessState.ExitCode(), run.Output())
}
