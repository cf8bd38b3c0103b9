package history_test

import (
	"compress/gzip"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/protocol"
)

// record is the folder to which TestRecordHistories writes histories. If it is empty, the test is skipped. Tests of
// package workflows replay these histories. They also replay those of earlier releases, so new histories do not replace
// old ones.
var record = flag.String("record", "", "write recorded histories to this `folder`")

func TestRecordHistories(t *testing.T) {
	if *record == "" {
		t.Skip("give -record FOLDER to record histories")
	}
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	tools.Add("pay", nil, world.Echo)
	tools.Add("wire", nil, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		task := req.Messages[0].Content
		switch {
		case task == "task" && world.Asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`)), nil
		case task == "parallel" && world.Asked(req) < 2:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{}`), llmtest.ToolCall("2", "pay", `{"n":2}`),
				llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "fly", `{}`), llmtest.ToolCall("4", "pay", `{"n":`)), nil
		case task == "parent" && world.Asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", "y", `{"task":"child"}`), llmtest.ToolCall("2", "y", `{"task":"child"}`)), nil
		case task == "waits" && world.Asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", "wire", `{"n":1}`), llmtest.ToolCall("2", "deploy", `{"version":12}`)), nil
		case task == "held" && world.Asked(req) == 0 && len(req.Messages) == 1:
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
		}
		return llmtest.Say("answer to " + task), nil
	}, tools, `    tools: [far.*, deploy]
    approval: {far.wire: always}
    approval_timeout: 1h
    agents: [y]
  y:
    model: main
external:
  deploy: {description: deploys}
`)
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w.MoveTo(own)
	worker := w.Worker()
	// The name of a file has the IDs of the agent and of the run, with a "~" between them. The replay needs both: keys depend on
	// the ID of the agent, and a run that began by a reset recognises its own tasks by the ID of the run.
	saveRun := func(id, run string) {
		var h historypb.History
		events := w.Temporal.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, event)
		}
		text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&h)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(*record, 0o755))
		f, err := os.Create(filepath.Join(*record, id+"~"+run+".json.gz"))
		require.NoError(t, err)
		z := gzip.NewWriter(f)
		_, err = z.Write(text)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, f.Close())
	}
	save := func(id string) { saveRun(id, w.RunID(id)) }
	closed := func(id string) {
		w.Must("close", id)
		w.Eventually("the chat ends", func() bool { return w.Show(id).Status == "completed" })
	}
	w.Must("run", "-a", "x", "--id", "task", "task")
	save("task")
	w.Must("run", "-a", "x", "--id", "parallel", "parallel")
	save("parallel")
	w.Must("run", "-a", "x", "--id", "parent", "parent")
	save("parent")
	w.Must("run", "-a", "x", "--chat", "--id", "chat", "hello")
	w.Must("send", "chat", "more")
	closed("chat")
	save("chat")
	w.Starter("run", "-a", "x", "--chat", "--id", "held", "held")
	w.Must("send", "held", "again")
	w.Must("cancel", "held")
	w.Eventually("it is cancelled", func() bool { return w.Show("held").Status == "cancelled" })
	save("held")

	w.Must("run", "--detach", "-a", "x", "--id", "waits", "waits")
	w.Eventually("two calls wait", func() bool { return strings.Count(w.Must("inbox", "--json"), `"call"`) == 2 })
	w.Must("complete", "waits", "deployed")
	w.Reset("waits", "", w.TaskCount("waits", ""))
	w.Eventually("one call waits", func() bool { return strings.Count(w.Must("inbox", "--json"), `"call"`) == 1 })
	w.Must("approve", "waits")
	w.Finished("waits", "answer to waits")
	save("waits")

	w.Must("run", "-a", "x", "--chat", "--id", "rolled", "hello")
	first := w.RunID("rolled")
	_, err = w.Client.UpgradeAndWait(t.Context(), "rolled", nil)
	require.NoError(t, err)
	w.Must("send", "rolled", "more")
	closed("rolled")
	saveRun("rolled", first)
	save("rolled")

	w.Must("run", "-a", "x", "--id", "reset", "parallel")
	w.Reset("reset", "", 3)
	w.Eventually("it ends again", func() bool { return w.Show("reset").Status == "completed" })
	save("reset")

	w.Must("run", "-a", "x", "--chat", "--id", "again", "parent")
	w.Must("send", "again", "more")
	first = w.RunID("again")
	second := w.Reset("again", first, w.TaskCount("again", first)/2)
	w.Must("send", "again", "still more")
	w.Reset("again", second, w.TaskCount("again", second)-1)
	w.Eventually("all messages are answered", func() bool {
		again := w.Show("again") // the message may come before the answer to an earlier one, so the number of answers differs
		lines := strings.Join(again.Lines(), "\n")
		return again.Status == "waiting" && strings.Contains(lines, "user: more") && strings.Contains(lines, "user: still more")
	})
	w.Must("send", "again", "the end")
	closed("again")
	save("again")

	w.Must("run", "-a", "x", "--chat", "--id", "resumed", "parallel")
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), "resumed", "", "test"))
	w.Must("resume", "resumed", "--message", "go on")
	closed("resumed")
	save("resumed")

	w.Must("fork", "chat", "--id", "fork", "--message", "and now?")
	closed("fork")
	save("fork")
	worker.Terminate()
}
