package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A script or a cron job can repeat `starter run --id`: the same task runs once, and each run prints its answer and ends with its exit code,
// while the agent works and after its end. Another task is refused.
func TestSameTaskUnderTheSameIDRunsOnce(t *testing.T) {
	t.Parallel()
	var calls, refusals atomic.Int32
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		calls.Add(1)
		switch text := req.Messages[len(req.Messages)-1].Content; {
		case text == "fail" && refusals.Add(1) == 1:
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "the key was refused"}
		case text == "cut":
			reply := llmtest.Say("half an")
			reply.FinishReason = "length"
			return reply, nil
		}
		return llmtest.Say(`{"sum": 42}`), nil
	}, nil, "")
	worker := w.Worker()
	id := t.Name()
	schema := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type": "object"}`), 0o600))

	// run runs a task for the second and the third time, the last time without a worker.
	run := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		out, errs, got := w.Starter(args...)
		require.Equal(t, code, got, errs)
		require.Equal(t, stdout, out)
		require.Contains(t, errs, stderr)
	}
	const answer = "{\"sum\": 42}\n"
	run(0, answer, "", "run", "-q", "--id", id, "6 times 7?")
	run(3, "> fail\n", "API key", "run", "--id", id+"-failed", "fail")
	run(6, "half an\n", "finish reason length", "run", "-q", "--id", id+"-cut", "cut")
	run(0, "> hi\n{\"sum\": 42}\n", "", "run", "--chat", "--id", id+"-chat", "hi")
	run(0, answer, "", "run", "-q", "--output-schema", schema, "--id", id+"-schema", "sum")
	w.Must("fork", "--detach", "--id", id+"-fork", "--message", "another", id)
	w.Finished(id+"-fork", `{"sum": 42}`)
	w.Must("close", id+"-chat")
	w.Ends(id+"-chat", "completed")
	before := calls.Load()
	worker.Kill()

	run(0, answer, "", "run", "-q", "--id", id, "6 times 7?")
	run(0, "> 6 times 7?\n"+answer, "has ended with this task already (completed); it was not started again", "run", "--id", id, "6 times 7?")
	run(0, w.Must("show", "--json", id), "", "run", "--json", "--id", id, "6 times 7?")
	run(0, id+"\n", "", "run", "--detach", "--id", id, "6 times 7?")
	run(3, "> fail\n", "API key", "run", "--id", id+"-failed", "fail")
	run(6, "half an\n", "finish reason length", "run", "-q", "--id", id+"-cut", "cut")
	run(0, answer, "", "run", "-q", "--output-schema", schema, "--id", id+"-schema", "sum")

	run(7, "", "is taken by an agent with another task, which has ended (completed); this task was not started; see", "run", "--id", id, "6 times 8?")
	run(7, "", "starter fork "+id+" --message TEXT", "run", "--chat", "--id", id, "6 times 7?")
	run(7, "", "is taken by this chat, which has ended", "run", "--chat", "--id", id+"-chat", "hi")
	run(7, "", "another task", "run", "--id", id+"-schema", "sum")
	run(7, "", "another task", "run", "--id", id, "--metadata", "customer=42", "6 times 7?")
	run(7, "", "another task", "run", "--id", id+"-fork", "6 times 7?")

	w.Worker()
	w.Must("resume", "--detach", id+"-failed")
	w.Finished(id+"-failed", `{"sum": 42}`)
	run(0, answer, "", "run", "-q", "--id", id+"-failed", "fail")
	require.Equal(t, before+1, calls.Load(), "only the resume called the model")
}
