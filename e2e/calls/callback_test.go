package calls_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/callback"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/token"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const callbackSecret = "a-secret-of-at-least-24-bytes-7"

// farSide is a program outside. It receives notifications, and sends results to the callback URLs in them.
type farSide struct {
	t *testing.T

	mu   sync.Mutex
	urls map[string]string // by the ID of the agent
}

// callbackWorld returns a world in which the agent x calls the external tool deploy and then says "done". Its workers notify the far
// side and accept results.
func callbackWorld(t *testing.T) (*world.World, *farSide) {
	far := &farSide{t: t, urls: map[string]string{}}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct {
			Data struct {
				AgentID string `json:"agent_id"`
				Calls   []struct{ Callback string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		far.mu.Lock()
		defer far.mu.Unlock()
		for _, c := range message.Data.Calls {
			if known := far.urls[message.Data.AgentID]; known != "" && known != c.Callback {
				t.Errorf("another URL for the same call: %s, %s", known, c.Callback)
			}
			far.urls[message.Data.AgentID] = c.Callback
		}
	}))
	t.Cleanup(hook.Close)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(callbackSecret), 0o600))
	address := fmt.Sprintf("127.0.0.1:%d", world.FreePort(t))
	return world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "deploy", `{"version":12}`)), llmtest.Say("done")), nil, fmt.Sprintf(`    tools: [deploy]
external:
  deploy: {description: deploys}
notify:
  far: {url: %q, on: [waits]}
callbacks:
  url: http://%s/callbacks
  listen: %s
  secret: ${file:%s}
`, hook.URL, address, address, secret)), far
}

// url returns the URL for the result of the call of an agent. It waits for the notification.
func (f *farSide) url(id string) (url string) {
	world.Eventually(f.t, "the far side is notified of the call of "+id, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		url = f.urls[id]
		return url != ""
	})
	return url
}

// post sends a result once. The status is 0 if there is no answer.
func post(url, result string) (status int, body string) {
	text, _ := json.Marshal(map[string]string{"result": result})
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(url, "application/json", strings.NewReader(string(text)))
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	read, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(read)
}

// postUntil sends a result until the answer is neither missing nor 503, and requires the given status.
func (f *farSide) postUntil(want int, url, result string) {
	f.t.Helper()
	status, body := 0, ""
	world.Eventually(f.t, "the result gets an answer", func() bool {
		status, body = post(url, result)
		return status != 0 && status != http.StatusServiceUnavailable
	})
	require.Equal(f.t, want, status, body)
}

// The far side is notified of an external call and sends the result to the URL in the notification, also if the worker dies between.
// The result takes effect once, and only for this call.
func TestResultComesByCallback(t *testing.T) {
	t.Parallel()
	w, far := callbackWorld(t)
	worker := w.Worker()
	id, other := t.Name(), t.Name()+"-other"
	w.Must("run", "--detach", "--id", id, "deploy 12")
	w.Must("run", "--detach", "--id", other, "deploy 12")
	url, otherURL := far.url(id), far.url(other)
	require.NotEqual(t, url, otherURL)
	w.Eventually("Temporal knows of the deliveries", func() bool {
		for _, id := range []string{id, other} {
			run, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
			require.NoError(t, err)
			if len(run.GetPendingActivities()) > 0 {
				return false
			}
		}
		return true
	})
	worker.Kill()

	status, _ := post(url, "deployed")
	require.Zero(t, status, "the worker is dead")
	own, err := callback.New(w.Client, callback.Options{Secret: callbackSecret, Wait: time.Second})
	require.NoError(t, err)
	here := httptest.NewServer(own) // a program of the far side's operator, which lives
	defer here.Close()
	status, body := post(here.URL+url[strings.LastIndex(url, "/"):], "deployed")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		far.postUntil(http.StatusOK, url, "deployed")
	}()
	again := w.Worker()
	<-posted
	w.Finished(id, "done")
	require.Equal(t, "tool: deployed", w.Show(id).Lines()[2])
	read, err := w.Client.ShowRecorded(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, callback.By, read.Messages[2].Decider.By)
	require.Equal(t, "127.0.0.1", read.Messages[2].Decider.From)

	// The call has its result, and the agent has ended. The same request gets the same answer.
	far.postUntil(http.StatusOK, url, "deployed")
	far.postUntil(http.StatusConflict, url, "deployed twice")
	require.Equal(t, "tool: deployed", w.Show(id).Lines()[2])

	// Nobody but the holder of its own URL gives the other call a result.
	signature := token.Signature(url)
	far.postUntil(http.StatusUnauthorized, strings.Replace(otherURL, token.Signature(otherURL), signature, 1), "forged")
	far.postUntil(http.StatusUnauthorized, otherURL[:len(otherURL)-1], "forged")
	require.Len(t, inboxOf(w, other), 1)
	far.postUntil(http.StatusOK, otherURL, "deployed, too")
	w.Finished(other, "done")
	require.Equal(t, "tool: deployed, too", w.Show(other).Lines()[2])

	signer, err := token.NewSigner(callbackSecret)
	require.NoError(t, err)
	base := url[:strings.LastIndex(url, "/")]
	far.postUntil(http.StatusNotFound, token.URL(base, signer.Sign(token.Call{AgentID: id, Key: "tool-00000000000000000000000000000000"})), "x")
	far.postUntil(http.StatusNotFound, token.URL(base, signer.Sign(token.Call{AgentID: "nobody", Key: "tool-00000000000000000000000000000000"})), "x")

	var stored []byte
	for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: id}) {
		require.NoError(t, err)
		stored, err = proto.MarshalOptions{}.MarshalAppend(stored, event)
		require.NoError(t, err)
	}
	require.Contains(t, string(stored), `"deployed"`)
	require.NotContains(t, string(stored)+worker.Output()+again.Output(), signature[:12])
	w.NothingTwice()
}

// A token names the call and not the run. So it holds in a new run, and after a reset of any task.
func TestCallbackHoldsInEveryRun(t *testing.T) {
	t.Parallel()
	w, far := callbackWorld(t)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "deploy 12")
	url := far.url(id)
	w.Roll(id)
	w.Eventually("the call waits", func() bool { return len(inboxOf(w, id)) == 1 })
	run := w.RunID(id)
	w.Reset(id, run, w.TaskCount(id, run))
	far.postUntil(http.StatusOK, url, "deployed")
	w.Finished(id, "done")

	run = w.RunID(id)
	for task := w.TaskCount(id, run); task >= 1; task-- {
		w.Reset(id, run, task)
		far.postUntil(http.StatusOK, url, "deployed")
		far.postUntil(http.StatusConflict, url, "deployed twice")
		w.Finished(id, "done")
		require.Equal(t, "tool: deployed", w.Show(id).Lines()[2])
	}

	// A fork makes the call again, as a call of its own.
	fork := id + "-fork"
	w.Must("fork", "--detach", id, "--at", "1", "--id", fork)
	forkURL := far.url(fork)
	require.NotEqual(t, url, forkURL)
	far.postUntil(http.StatusOK, url, "deployed")
	require.Len(t, inboxOf(w, fork), 1)
	far.postUntil(http.StatusOK, forkURL, "deployed again")
	require.Equal(t, "tool: deployed again", w.Transcript(fork, 4)[2])
	w.NothingTwice()
}

// The result of an external call that comes after an interrupt reaches the model as a message, once.
func TestResultAfterAnInterruptIsNews(t *testing.T) {
	t.Parallel()
	w, far := callbackWorld(t)
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "deploy it")
	url := far.url(id)
	w.Must("interrupt", id)
	far.postUntil(http.StatusOK, url, "deployed")
	far.postUntil(http.StatusOK, url, "deployed")
	far.postUntil(http.StatusConflict, url, "failed")
	w.Must("send", "--detach", id, "go on")
	require.Equal(t, []string{
		"tool: no result: a person interrupted the turn; outcome unknown — check before you retry",
		"user: The call 1 of deploy, which had no result, has its result now:\n\ndeployed", "user: go on", "assistant: done",
	}, w.Transcript(id, 6)[2:])
	w.NothingTwice()
}
