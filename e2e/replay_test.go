package e2e_test

import (
	"compress/gzip"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"

	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// record writes the histories that workflows/replay_test.go replays. A release records
// its own beside the old ones; those stay as they are.
var record = flag.String("record", "", "write recorded histories to this `folder`")

func TestRecordHistories(t *testing.T) {
	if *record == "" {
		t.Skip("give -record FOLDER to record histories")
	}
	tools := newToolServer(t)
	tools.add("read", readOnly, echo)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		task := req.Messages[0].Content
		switch {
		case task == "task" && asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`)), nil
		case task == "parallel" && asked(req) < 2:
			return llmtest.Call(llmtest.ToolCall("1", "read", `{}`), llmtest.ToolCall("2", "pay", `{"n":2}`),
				llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "fly", `{}`), llmtest.ToolCall("4", "pay", `{"n":`)), nil
		case task == "parent" && asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", "y", `{"task":"child"}`), llmtest.ToolCall("2", "y", `{"task":"child"}`)), nil
		case task == "held" && asked(req) == 0 && len(req.Messages) == 1:
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
		}
		return llmtest.Say("answer to " + task), nil
	}, tools, "    tools: [far.*]\n    agents: [y]\n  y:\n    model: main\n")
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: workflows.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w.moveTo(own)
	worker := w.worker()
	// A file's name has the agent's ID and the run's, behind a "~": keys hold the one, and a run that was reset knows itself by the other.
	saveRun := func(id, run string) {
		var h historypb.History
		events := w.temporal.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
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
	save := func(id string) { saveRun(id, w.runID(id)) }
	closed := func(id string) {
		w.must("close", id)
		w.eventually("the chat ends", func() bool { return w.show(id).Status == "completed" })
	}
	w.must("run", "-a", "x", "--id", "task", "task")
	save("task")
	w.must("run", "-a", "x", "--id", "parallel", "parallel")
	save("parallel")
	w.must("run", "-a", "x", "--id", "parent", "parent")
	save("parent")
	w.must("run", "-a", "x", "--chat", "--id", "chat", "hello")
	w.must("send", "chat", "more")
	closed("chat")
	save("chat")
	w.starter("run", "-a", "x", "--chat", "--id", "held", "held")
	w.must("send", "held", "again")
	w.must("cancel", "held")
	w.eventually("it is cancelled", func() bool { return w.show("held").Status == "cancelled" })
	save("held")

	w.must("run", "-a", "x", "--chat", "--id", "rolled", "hello")
	first := w.runID("rolled")
	_, err = w.client.UpgradeAndWait(t.Context(), "rolled", nil)
	require.NoError(t, err)
	w.must("send", "rolled", "more")
	closed("rolled")
	saveRun("rolled", first)
	save("rolled")

	w.must("run", "-a", "x", "--id", "reset", "parallel")
	w.reset("reset", "", 3)
	w.eventually("it ends again", func() bool { return w.show("reset").Status == "completed" })
	save("reset")

	w.must("run", "-a", "x", "--chat", "--id", "again", "parent")
	w.must("send", "again", "more")
	first = w.runID("again")
	second := w.reset("again", first, w.taskCount("again", first)/2)
	w.must("send", "again", "still more")
	w.reset("again", second, w.taskCount("again", second)-1)
	w.transcript("again", 8)
	w.must("send", "again", "the end")
	closed("again")
	save("again")

	w.must("run", "-a", "x", "--chat", "--id", "resumed", "parallel")
	require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), "resumed", "", "test"))
	w.must("resume", "resumed", "--message", "go on")
	closed("resumed")
	save("resumed")

	w.must("fork", "chat", "--id", "fork", "--message", "and now?")
	closed("fork")
	save("fork")
	worker.terminate()
}
