package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// version starts a worker of a version of the test's deployment.
func (w *world) version(build string, args ...string) *process {
	return w.worker(append([]string{"--deployment", w.deployment(), "--build-id", build}, args...)...)
}

func (w *world) deployment() string { return "d-" + w.t.Name() }

// current makes a version current, as soon as the server knows that its workers are there.
func (w *world) current(build string) {
	handle := w.temporal.WorkerDeploymentClient().GetHandle(w.deployment())
	w.eventually(build+" is current", func() bool {
		_, err := handle.SetCurrentVersion(w.t.Context(), sdk.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}

// runsOn is the version on which the newest task of an agent was done, and how it is bound to it.
func (w *world) runsOn(id string) (build string, behavior enumspb.VersioningBehavior) {
	found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
	require.NoError(w.t, err)
	version := found.GetWorkflowExecutionInfo().GetVersioningInfo()
	require.Nil(w.t, version.GetVersioningOverride(), "the workers say how it is bound")
	return version.GetDeploymentVersion().GetBuildId(), version.GetBehavior()
}

// A pinned agent stays on the version on which it began, and goes on with the current one when it is
// told to: with its transcript, and without doing anything twice.
func TestPinnedAgentStaysUntilItIsUpgraded(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && strings.HasPrefix(last.Content, "pay") {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"n":%d}`, asked(req)))), nil
		}
		return llmtest.Say(fmt.Sprint("reply ", asked(req))), nil
	}, tools, "")
	first := w.version("v1", "--pinned")
	require.Regexp(t, `(?m)^Deployment  d-\S+, build v1, its agents pinned; none is current: to give new agents to this build, run\n +temporal worker deployment set-current-version --deployment-name d-\S+ --build-id v1 --address \S+ --namespace default$`, first.output())
	w.current("v1")
	w.must("run", "--chat", "--id", t.Name(), "pay one")
	second := w.version("v2", "--pinned")
	require.Contains(t, second.output(), ", build v2, its agents pinned; current is v1: to give new agents to this build, run")
	w.current("v2")
	w.must("send", t.Name(), "pay two")
	build, behavior := w.runsOn(t.Name())
	require.Equal(t, "v1", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_PINNED, behavior)
	before := w.show(t.Name()).lines()
	began := w.runID(t.Name())

	var upgraded struct{ ID, Run string }
	require.NoError(t, json.Unmarshal([]byte(w.must("upgrade", "--json", t.Name())), &upgraded))
	require.Equal(t, t.Name(), upgraded.ID)
	require.Equal(t, w.runID(t.Name()), upgraded.Run)
	require.NotEqual(t, began, upgraded.Run)
	first.terminate() // nothing needs it any more
	w.eventually("the first version has ended", first.ended)
	w.must("send", t.Name(), "pay three")
	build, behavior = w.runsOn(t.Name())
	require.Equal(t, "v2", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_PINNED, behavior)
	require.Equal(t, append(before, "user: pay three", `assistant: [pay {"n":4}]`, `tool: did {"n":4}`, "assistant: reply 5"), w.show(t.Name()).lines())
	w.once()
	require.Len(t, w.requests(), 6)
	require.Len(t, tools.effects(), 3)

	// An agent that is on the current version goes on in one new run, and says which.
	require.Regexp(t, "^Agent "+t.Name()+" goes on in run [0-9a-f-]{36}\n$", w.must("upgrade", t.Name()))
	w.must("close", t.Name())
	w.ends(t.Name(), "completed")
	_, errs, code := w.starter("upgrade", t.Name())
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has ended")
}

// While a call runs, an agent stays where it is; its call is not repeated.
func TestUpgradeWaitsForTheCallThatRuns(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := newWorld(t, func(ctx context.Context, _ llm.Request) (llm.Reply, error) { return llmtest.Say("done"), g.pass(ctx) }, nil, "")
	w.version("v1", "--pinned")
	w.current("v1")
	w.must("run", "--chat", "--detach", "--id", t.Name(), "work")
	g.wait(t)
	w.version("v2", "--pinned")
	w.current("v2")
	began := w.runID(t.Name())
	run, err := w.client.UpgradeAndWait(t.Context(), t.Name(), func() {
		require.Equal(t, began, w.runID(t.Name()))
		close(g.open)
	})
	require.NoError(t, err)
	require.NotEqual(t, began, run)
	require.Equal(t, w.runID(t.Name()), run)
	w.eventually("it waits", func() bool { return w.show(t.Name()).Status == "waiting" })
	require.Equal(t, []string{"user: work", "assistant: done"}, w.show(t.Name()).lines())
	w.once()
}

// An agent that is not pinned goes on with the current version at its next task.
func TestAgentThatIsNotPinnedMovesAtItsNextTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, counting, nil, "")
	w.version("v1")
	w.current("v1")
	w.must("run", "--chat", "--id", t.Name(), "one")
	began := w.runID(t.Name())
	build, behavior := w.runsOn(t.Name())
	require.Equal(t, "v1", build)
	require.Equal(t, enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE, behavior)
	w.version("v2")
	w.current("v2")
	require.Contains(t, w.version("v2").output(), ", build v2, the current one\n")
	require.Equal(t, "reply 2\n", w.must("send", t.Name(), "two"))
	build, _ = w.runsOn(t.Name())
	require.Equal(t, "v2", build)
	require.Equal(t, began, w.runID(t.Name()), "in the same run")
	require.Equal(t, []string{"user: one", "assistant: reply 1", "user: two", "assistant: reply 2"}, w.show(t.Name()).lines())
	w.once()
}

// The one process of a stateful server serves the agents of all versions.
func TestStatefulServerHasNoVersion(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req)%2 == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), nil
		}
		return llmtest.Say(req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "")
	w.write(fmt.Sprintf(`task_queue: %s
models:
  main: {model: m, base_url: %q}
mcp_servers:
  counter: {command: [%q], env: {%s: "1"}, stateful: true}
agents:
  x: {model: main, tools: [counter.*]}
`, w.queue, w.model.URL, self, counterEnv))
	w.version("v1", "--pinned")
	w.current("v1")
	w.must("run", "--chat", "--id", t.Name(), "count")
	w.version("v2", "--pinned", "--stateful", "none")
	w.current("v2")
	w.must("run", "--id", t.Name()+"-2", "count")
	build, _ := w.runsOn(t.Name() + "-2")
	require.Equal(t, "v2", build)
	require.Equal(t, "2", w.show(t.Name()+"-2").Result)
	require.Equal(t, "3\n", w.must("send", t.Name(), "count"))
	build, _ = w.runsOn(t.Name())
	require.Equal(t, "v1", build)
}

// A version that cannot be is a mistake in the command line, and not a worker that gets nothing.
func TestVersionThatCannotBeIsRefused(t *testing.T) {
	w := newWorld(t, counting, nil, "")
	const half = "--deployment and --build-id name a version together: give both, or neither; --pinned needs both"
	for flags, want := range map[string]string{
		"--deployment shop":                 half,
		"--build-id v1":                     half,
		"--pinned":                          half,
		"--deployment a.shop --build-id v1": "--deployment a.shop: worker deployment name contains reserved separator '.'",
	} {
		out, err := w.command("worker", append(strings.Fields(flags), "--config", w.config)...).CombinedOutput()
		require.Error(t, err)
		require.Equal(t, "worker: "+want+"\n", string(out))
	}
}
