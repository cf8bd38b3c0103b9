package telemetry_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// What people, models and tools say is in no log entry from the level INFO on: neither in one of the worker, nor in one of Temporal's SDK. The
// entries of the level DEBUG and the transcript have all of it, so the search finds what is there. Entries about an agent name the agent, the
// call, the run and the trace.
func TestLogHasFieldsAndNoContent(t *testing.T) {
	collector := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	var calls atomic.Int32
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		switch calls.Add(1) {
		case 1:
			return llm.Reply{}, &llm.Error{Class: llm.EmptyReply}
		case 2:
			reply := llmtest.Call(llmtest.ToolCall("1", "fail", `{"name":"plum-of-the-arguments"}`))
			reply.Message.Content = "a plum-of-the-model"
			return reply, nil
		case 3:
			return llmtest.Call(llmtest.ToolCall("2", "lose", `{"name":"plum-of-the-lost"}`)), nil
		default:
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "I refuse the plum-of-the-endpoint"}
		}
	}, nil, "")
	self, err := os.Executable()
	require.NoError(t, err)
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  main: {model: scripted, base_url: %q}
mcp_servers:
  near: {command: [%q], env: {%s: "1"}}
agents:
  x: {model: main, tools: [near.*]}
`, w.Queue, w.Model.URL, self, toolServer))
	worker := w.Worker("--log-level", "debug", "--log-format", "json")
	_, _, code := w.Starter("run", "--id", t.Name(), "a plum-of-the-message")
	require.NotZero(t, code, "the endpoint refuses the last request")
	transcript := w.Must("show", "--json", t.Name())
	run := w.RunID(t.Name())
	var traceID string
	w.Eventually("the span of the command has come", func() bool {
		all, _ := collector.spans()
		for _, s := range all {
			if s.GetName() == "starter run" {
				traceID = hex.EncodeToString(s.GetTraceId())
			}
		}
		return traceID != ""
	})
	worker.Terminate()
	w.Eventually("the worker has stopped", worker.Ended)

	var shown, hidden strings.Builder
	found := map[string]map[string]any{}
	for line := range strings.Lines(worker.Output()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["level"] == "DEBUG" {
			hidden.WriteString(line)
			continue
		}
		shown.WriteString(line)
		if message, ok := entry["msg"].(string); ok {
			found[message] = entry
		}
	}
	for _, what := range []string{"message", "model", "arguments", "error", "lost", "endpoint"} {
		word := "plum-of-the-" + what
		require.NotContains(t, shown.String(), word)
		require.Contains(t, hidden.String()+transcript, word, "the search finds what is there")
	}
	for _, word := range []string{"plum-of-the-arguments", "plum-of-the-lost"} { // stderr of the server
		require.Contains(t, hidden.String(), word)
	}
	require.Contains(t, found, "Started Worker", "an entry of Temporal's SDK")
	for _, message := range []string{"the model's reply was empty", "the outcome of a tool call is unknown"} {
		entry := found[message]
		require.NotNil(t, entry, message)
		require.Equal(t, t.Name(), entry["agent"])
		require.Equal(t, run, entry["run"])
		require.Equal(t, traceID, entry["trace"])
		require.NotEmpty(t, entry["key"])
	}
	for _, entry := range found {
		require.NotContains(t, entry, "WorkflowID")
		require.NotContains(t, entry, "RunID")
	}
}
