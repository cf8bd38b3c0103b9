package recovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// version starts a worker with the given build ID, in the worker deployment of the test. The deployment and the build
// ID together are a worker version.
func version(w *world.World, build string, args ...string) *world.Process {
	return w.Worker(append([]string{"--deployment", deployment(w), "--build-id", build}, args...)...)
}

func deployment(w *world.World) string { return "d-" + w.T.Name() }

// current makes the worker version with the given build ID the current one. It tries again until the server knows a
// worker of this version.
func current(w *world.World, build string) {
	handle := w.Temporal.WorkerDeploymentClient().GetHandle(deployment(w))
	w.Eventually(build+" is current", func() bool {
		_, err := handle.SetCurrentVersion(w.T.Context(), sdk.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}

// runsOn returns the build ID of the worker version on which an agent runs, and its versioning behaviour: whether it is
// pinned to this version.
func runsOn(w *world.World, id string) (build string, behavior enumspb.VersioningBehavior) {
	found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
	require.NoError(w.T, err)
	version := found.GetWorkflowExecutionInfo().GetVersioningInfo()
	require.Nil(w.T, version.GetVersioningOverride(), "the workers say how it is bound")
	return version.GetDeploymentVersion().GetBuildId(), version.GetBehavior()
}

// An agent that is pinned stays on the worker version on which it began, until `starter upgrade` moves it to the
// current version. It keeps its transcript, and nothing is done twice.
func TestPinnedAgentStaysUntilItIsUpgraded(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && strings.HasPrefix(last.Content, "pay") {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"n":%d}`, world.Asked(req)))), nil
		}
		return llmtest.Say(fmt.Sprint("reply ", world.Asked(req))), nil
	}, tools, "")
	first := version(w, "v1", "--pinned")
	require.Regexp(t, `(?m)^Deployment  d-\S+, build v1, its agents pinned; none is current: to give new agents to this build, run\n +temporal worker deployment set-current-version --deployment-name d-\S+ --build-id v1 --address \S+ --namespace default$`, first.Output())
	current(w, "v1")
	w.Must("run", "--chat", "--id", t.Name(), "pay one")
	second := version(w, "v2", "--pinned")
	require.Contains(t, second.Output(), ", build v2, its agents pinned; current is v1: to give new agents to this build, run")
	current(w, "v2")
	w.Must("send", t.Name(), "pay two")
	build, behavior := runsOn(w, t.Name())
	require.Equal(t, "v1", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_PINNED, behavior)
	before := w.Show(t.Name()).Lines()
	began := w.RunID(t.Name())

	var upgraded struct {
		ID  string
		Run string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.Must("upgrade", "--json", t.Name())), &upgraded))
	require.Equal(t, t.Name(), upgraded.ID)
	require.Equal(t, w.RunID(t.Name()), upgraded.Run)
	require.NotEqual(t, began, upgraded.Run)
	first.Terminate() // no agent needs it any more
	w.Eventually("the first version has ended", first.Ended)
	w.Must("send", t.Name(), "pay three")
	build, behavior = runsOn(w, t.Name())
	require.Equal(t, "v2", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_PINNED, behavior)
	require.Equal(t, append(before, "user: pay three", `assistant: [pay {"n":4}]`, `tool: did {"n":4}`, "assistant: reply 5"), w.Show(t.Name()).Lines())
	w.NothingTwice()
	require.Len(t, w.Requests(), 6)
	require.Len(t, tools.Effects(), 3)

	// An agent that is on the current version goes on in one new run, and starter prints the ID of the run.
	require.Regexp(t, "^Agent "+t.Name()+" goes on in run [0-9a-f-]{36}\n$", w.Must("upgrade", t.Name()))
	w.Must("close", t.Name())
	w.Ends(t.Name(), "completed")
	_, errs, code := w.Starter("upgrade", t.Name())
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has ended")
}

// While a call runs, an upgrade waits. So the call is not repeated.
func TestUpgradeWaitsForTheCallThatRuns(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, _ llm.Request) (llm.Reply, error) { return llmtest.Say("done"), g.Pass(ctx) }, nil, "")
	version(w, "v1", "--pinned")
	current(w, "v1")
	w.Must("run", "--chat", "--detach", "--id", t.Name(), "work")
	g.Wait(t)
	version(w, "v2", "--pinned")
	current(w, "v2")
	began := w.RunID(t.Name())
	run, err := w.Client.UpgradeAndWait(t.Context(), t.Name(), func() {
		require.Equal(t, began, w.RunID(t.Name()))
		close(g.Open)
	})
	require.NoError(t, err)
	require.NotEqual(t, began, run)
	require.Equal(t, w.RunID(t.Name()), run)
	w.Eventually("it waits", func() bool { return w.Show(t.Name()).Status == "waiting" })
	require.Equal(t, []string{"user: work", "assistant: done"}, w.Show(t.Name()).Lines())
	w.NothingTwice()
}

// An agent that is not pinned goes on with the current worker version at its next workflow task, in the same run.
func TestAgentThatIsNotPinnedMovesAtItsNextTask(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	version(w, "v1")
	current(w, "v1")
	w.Must("run", "--chat", "--id", t.Name(), "one")
	began := w.RunID(t.Name())
	build, behavior := runsOn(w, t.Name())
	require.Equal(t, "v1", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE, behavior)
	version(w, "v2")
	current(w, "v2")
	require.Contains(t, version(w, "v2").Output(), ", build v2, the current one\n")
	require.Equal(t, "reply 2\n", w.Must("send", t.Name(), "two"))
	build, _ = runsOn(w, t.Name())
	require.Equal(t, "v2", build)
	require.Equal(t, began, w.RunID(t.Name()), "in the same run")
	require.Equal(t, []string{"user: one", "assistant: reply 1", "user: two", "assistant: reply 2"}, w.Show(t.Name()).Lines())
	w.NothingTwice()
}

// A stateful MCP server runs in one process, which serves the agents of all worker versions.
func TestStatefulServerHasNoVersion(t *testing.T) {
	t.Parallel()
	w := counterWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req)%2 == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), nil
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	})
	version(w, "v1", "--pinned")
	current(w, "v1")
	w.Must("run", "--chat", "--id", t.Name(), "count")
	version(w, "v2", "--pinned", "--stateful", "none")
	current(w, "v2")
	w.Must("run", "--id", t.Name()+"-2", "count")
	build, _ := runsOn(w, t.Name()+"-2")
	require.Equal(t, "v2", build)
	require.Equal(t, "2", w.Show(t.Name()+"-2").Answer)
	require.Equal(t, "3\n", w.Must("send", t.Name(), "count"))
	build, _ = runsOn(w, t.Name())
	require.Equal(t, "v1", build)
}

// The worker refuses flags that do not name a valid version. If it accepted them, it would run and get no work.
func TestVersionThatCannotBeIsRefused(t *testing.T) {
	w := world.New(t, world.Counting, nil, "")
	const half = "--deployment or --build-id is missing; give both, or leave out --deployment, --build-id and --pinned"
	for flags, want := range map[string]string{
		"--deployment shop":                 half,
		"--build-id v1":                     half,
		"--pinned":                          half,
		"--deployment a.shop --build-id v1": "--deployment a.shop: the worker deployment cannot be read from Temporal: worker deployment name contains reserved separator '.'; check the name and the connection",
	} {
		out, err := w.Command("worker", append(strings.Fields(flags), "--config", w.Config)...).CombinedOutput()
		require.Error(t, err)
		require.Equal(t, "worker: "+want+"\n", string(out))
	}
}
