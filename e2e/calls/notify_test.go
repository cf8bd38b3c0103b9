package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/webhook"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// hookServer is a receiver of notifications. It refuses the first request, and checks the signature of each.
type hookServer struct {
	URL string

	mu       sync.Mutex
	refused  string              // the key of the refused request
	accepted map[string][]string // the keys of the accepted requests, by type
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newHookServer(t *testing.T) *hookServer {
	s := &hookServer{accepted: map[string][]string{}}
	key, err := webhook.Key(hookSecret)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
		var message struct {
			Type, Key string
			Data      struct {
				Calls []struct{ Handle, Tool string }
			}
		}
		if webhook.Sign(key, r.Header.Get("Webhook-Id"), time.Unix(sent, 0), body) != r.Header.Get("Webhook-Signature") ||
			json.Unmarshal(body, &message) != nil || message.Key != r.Header.Get("Webhook-Id") {
			t.Errorf("a request that is not from the worker: %v %s", r.Header, body)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refused == "" {
			s.refused = message.Key
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.accepted[message.Type] = append(s.accepted[message.Type], message.Key)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// keys returns the keys of the accepted requests of a type.
func (s *hookServer) keys(kind string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.accepted[kind]...)
}

// A hook is notified when an agent waits for an approval and when it has ended, each with one key. A new worker and a new run do not
// notify it again. A reset of any task replays.
func TestHookIsNotifiedOfAWaitAndOfTheEnd(t *testing.T) {
	t.Setenv("HOOK_SECRET", hookSecret)
	hook := newHookServer(t)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, fmt.Sprintf("    tools: [far.*]\n    approval: {far.pay: always}\nnotify:\n  pager: {url: %q, secret_env: HOOK_SECRET}\n", hook.URL))
	first := w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "pay")
	w.Eventually("the hook is notified of the wait", func() bool { return len(hook.keys("agent.waits")) == 1 })
	require.Equal(t, hook.refused, hook.keys("agent.waits")[0], "a retry has the same key")
	w.Eventually("Temporal knows of the delivery", func() bool { // otherwise, it would be repeated
		run, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		return len(run.GetPendingActivities()) == 0
	})
	first.Kill()
	w.Worker()
	run := w.RunID(id)
	w.Roll(id)
	w.Must("approve", id)
	w.Finished(id, "done")
	require.Len(t, hook.keys("agent.waits"), 1)
	require.Len(t, hook.keys("agent.ended"), 1)
	require.NotEqual(t, hook.keys("agent.waits"), hook.keys("agent.ended"))
	w.NothingTwice()

	// Temporal delivers the decision again.
	for task := w.TaskCount(id, run); task >= 1; task-- {
		w.Reset(id, run, task)
		w.Finished(id, "done")
	}
	for _, key := range hook.keys("agent.waits") {
		require.Equal(t, hook.refused, key, "the same wait has the same key")
	}
	w.NothingTwice()
}
