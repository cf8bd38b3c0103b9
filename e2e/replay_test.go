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

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
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
	worker := w.worker()
	save := func(name string) {
		var h historypb.History
		events := temporal.GetWorkflowHistory(t.Context(), name, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, event)
		}
		text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&h)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(*record, 0o755))
		f, err := os.Create(filepath.Join(*record, name+".json.gz"))
		require.NoError(t, err)
		z := gzip.NewWriter(f)
		_, err = z.Write(text)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, f.Close())
	}
	w.must("run", "-a", "x", "--id", "task", "task")
	save("task")
	w.must("run", "-a", "x", "--id", "parallel", "parallel")
	save("parallel")
	w.must("run", "-a", "x", "--id", "parent", "parent")
	save("parent")
	w.must("run", "-a", "x", "--chat", "--id", "chat", "hello")
	w.must("send", "chat", "more")
	w.must("close", "chat")
	w.eventually("the chat ends", func() bool { return w.show("chat").Status == "completed" })
	save("chat")
	w.starter("run", "-a", "x", "--chat", "--id", "held", "held")
	w.must("send", "held", "again")
	w.must("cancel", "held")
	w.eventually("it is cancelled", func() bool { return w.show("held").Status == "cancelled" })
	save("held")
	worker.terminate()
}
