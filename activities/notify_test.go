package activities_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/hint"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/token"
	"github.com/reagent-dev/reagent/internal/webhook"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// notifyStage returns a stage whose worker has the given hooks. It hides the texts in `secrets`.
func notifyStage(t *testing.T, secrets []string, hooks ...activities.Hook) *stage {
	return callbackStage(t, nil, secrets, hooks...)
}

// callbackStage is notifyStage for a worker with the given callbacks.
func callbackStage(t *testing.T, callbacks *activities.Callbacks, secrets []string, hooks ...activities.Hook) *stage {
	as := &named{key: "notify-1"}
	s := &stage{model: llmtest.Script(), named: as, workflow: &workflow{contact: &contact{named: as}, head: llm.Request{}, page: 2}}
	var err error
	s.doing, err = activities.New(activities.Options{
		Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: s.model, Model: "m"}}, Notify: hooks, Callbacks: callbacks, Commands: hint.Starter{},
		Agents: []activities.Agent{{Name: "x"}},
		Redact: func(text string) string {
			for _, secret := range secrets {
				text = strings.ReplaceAll(text, secret, "[hidden]")
			}
			return text
		},
	})
	require.NoError(t, err)
	s.open()
	return s
}

// notification is one about a call that waits for an approval.
func notification() protocol.NotifyInput {
	return protocol.NotifyInput{Agent: "x", Notification: agent.Notification{
		Key: "notify-1", Hook: "pager", On: agent.OnWaits, Time: 1_700_000_000_000, Status: agent.Waiting, WaitsFor: agent.WaitsForApproval,
		Calls: []agent.NotifiedCall{{Key: "tool-0123456789abcdef", Tool: "pay", Arguments: `{"n":1}`, WaitsFor: agent.WaitsForApproval}},
	}}
}

func (s *stage) notify(in protocol.NotifyInput) *temporal.ApplicationError {
	_, err := s.ExecuteActivity(protocol.Notify, in)
	if err == nil {
		return nil
	}
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		panic(err)
	}
	return app
}

// A receiver can check that a request comes from the worker, and knows the call and who can do what.
func TestNotificationIsSignedAndSaysWhatToDo(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	s := notifyStage(t, nil, activities.Hook{Name: "pager", URL: server.URL, Secret: secret, Headers: map[string]string{"X-Team": "ops"}})
	require.Nil(t, s.notify(notification()))
	require.Equal(t, "notify-1", header.Get("Webhook-Id"))
	require.Equal(t, "ops", header.Get("X-Team"))
	key, err := webhook.Key(secret)
	require.NoError(t, err)
	sent, err := json.Number(header.Get("Webhook-Timestamp")).Int64()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(sent, 0), time.Minute)
	require.Equal(t, webhook.Sign(key, "notify-1", time.Unix(sent, 0), body), header.Get("Webhook-Signature"))
	require.JSONEq(t, `{
		"type": "agent.waits", "timestamp": "2023-11-14T22:13:20Z", "key": "notify-1",
		"data": {
			"agent_id": "default-test-workflow-id", "agent": "x", "status": "waiting", "waits_for": "approval",
			"calls": [{
				"key": "tool-0123456789abcdef", "handle": "01234567", "tool": "pay", "arguments": "{\"n\":1}", "text": "n  1\n", "waits_for": "approval",
				"commands": ["starter approve default-test-workflow-id 01234567", "starter deny default-test-workflow-id 01234567"]
			}]
		}
	}`, string(body))
}

// A receiver can tell a text about which a guardrail asks from a call.
func TestNotificationSaysThatATextWaits(t *testing.T) {
	var got struct {
		Data struct{ Calls []map[string]any }
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &got)
	}))
	defer server.Close()
	in := notification()
	in.Calls = append(in.Calls, agent.NotifiedCall{Key: "text-1", Tool: "tone", Arguments: "{}", Subject: agent.TextAnswer, Reason: "rude?"})
	require.Nil(t, notifyStage(t, nil, activities.Hook{Name: "pager", URL: server.URL}).notify(in))
	require.NotContains(t, got.Data.Calls[0], "subject")
	require.Equal(t, "answer", got.Data.Calls[1]["subject"])
	require.Equal(t, "rude?", got.Data.Calls[1]["reason"])
}

// Temporal retries an attempt only if a later one may succeed. The error has no secret.
func TestRefusedNotificationIsNotRetried(t *testing.T) {
	var mu sync.Mutex
	status := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no route for "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	s := notifyStage(t, []string{"the-token"}, activities.Hook{
		Name: "pager", URL: server.URL + "/services/path", Headers: map[string]string{"Authorization": "the-token"},
	})
	for code, final := range map[int]bool{503: false, 429: false, 400: true, 302: true} {
		mu.Lock()
		status = code
		mu.Unlock()
		failed := s.notify(notification())
		require.Equal(t, protocol.NotDelivered, failed.Type())
		require.Equal(t, final, failed.NonRetryable(), code)
		require.Contains(t, failed.Message(), "hook pager: ")
		require.Contains(t, failed.Message(), "no route for [hidden]")
		require.NotContains(t, failed.Message(), "/services/path")
	}
	other := notification()
	other.Hook = "mail"
	failed := s.notify(other)
	require.Equal(t, protocol.Missing, failed.Type())
	require.False(t, failed.NonRetryable(), "another worker may have the hook")
	require.Contains(t, failed.Message(), `no hook "mail" on this worker, which has these hooks: pager`)
}

// The notification of an external call has the URL for its result, and no other call has one. The token of the URL does not enter the
// history, also if the receiver repeats it.
func TestNotificationHasTheURLForTheResult(t *testing.T) {
	var body []byte
	status, before := http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
		_, _ = w.Write(body[bytes.LastIndex(body, []byte(`","commands"`))-before:])
	}))
	defer server.Close()
	callbacks := &activities.Callbacks{URL: "https://agents.example.com/callbacks/", Secret: "a-secret-of-at-least-24-bytes"}
	s := callbackStage(t, callbacks, nil, activities.Hook{Name: "pager", URL: server.URL})
	in := notification()
	for i, waitsFor := range []agent.WaitsFor{agent.WaitsForAnswer, agent.WaitsForResult, agent.WaitsForResult} {
		in.Calls = append(in.Calls, agent.NotifiedCall{Key: agent.Key(fmt.Sprintf("tool-%032d", i)), Tool: "deploy", Arguments: "{}", WaitsFor: waitsFor})
	}
	require.Nil(t, s.notify(in))
	var got struct {
		Data struct {
			Calls []struct{ Key, Callback string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &got))
	require.Len(t, got.Data.Calls, 4)
	signer, err := token.NewSigner(callbacks.Secret)
	require.NoError(t, err)
	for i, c := range got.Data.Calls {
		if i < 2 {
			require.Empty(t, c.Callback)
			continue
		}
		text, ok := strings.CutPrefix(c.Callback, "https://agents.example.com/callbacks/")
		require.True(t, ok, c.Callback)
		call, ok := signer.Verify(text)
		require.True(t, ok)
		require.Equal(t, token.Call{AgentID: "default-test-workflow-id", Key: agent.Key(c.Key)}, call)
	}

	status = http.StatusBadRequest
	signature := token.Signature(got.Data.Calls[3].Callback)
	for _, before = range []int{40, 120, 220} { // the end of the token, the whole signature, and the token up to its last bytes
		failed := s.notify(in)
		require.Contains(t, failed.Message(), "[hidden]")
		for i := range len(signature) - 12 {
			require.NotContains(t, failed.Message(), signature[i:i+12])
		}
	}

	for problem, wrong := range map[string]activities.Callbacks{
		"callbacks: Callbacks.URL is not an http or https URL":                      {Secret: callbacks.Secret},
		"callbacks: the secret has 0 bytes; use a secret of at least 24":            {URL: callbacks.URL},
		"callbacks: old secret 1: the secret has 5 bytes; use a secret of at least": {URL: callbacks.URL, Secret: callbacks.Secret, OldSecrets: []string{"short"}},
	} {
		_, err := activities.New(activities.Options{Temporal: s.workflow, Callbacks: &wrong})
		require.ErrorContains(t, err, problem)
	}
}

// A command gets the notification on stdin and none of the worker's keys. It is killed at its time limit with all that it has started.
func TestCommandGetsTheNotification(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "the-key-of-the-worker")
	folder := t.TempDir()
	shell := func(script string) *stage {
		return notifyStage(t, []string{"the-token"}, activities.Hook{
			Name: "pager", Command: []string{"sh", "-c", script}, Env: map[string]string{"FOLDER": folder, "TOKEN": "the-token"}, Timeout: time.Second,
		})
	}
	require.Nil(t, shell(`cat >"$FOLDER/in"; env >"$FOLDER/env"`).notify(notification()))
	in, err := os.ReadFile(filepath.Join(folder, "in"))
	require.NoError(t, err)
	require.Contains(t, string(in), `"key":"notify-1"`)
	env, err := os.ReadFile(filepath.Join(folder, "env"))
	require.NoError(t, err)
	require.NotContains(t, string(env), "the-key-of-the-worker")

	require.Nil(t, shell(`true`).notify(notification()), "a command need not read its input")
	failed := shell(`echo "$TOKEN is wrong" >&2; exit 3`).notify(notification())
	require.Equal(t, "hook pager: the command failed: exit status 3: [hidden] is wrong", failed.Message())
	require.False(t, failed.NonRetryable())
	failed = shell(`(while :; do sleep 60; done) & echo $! >"$FOLDER/pid"; wait`).notify(notification())
	require.Contains(t, failed.Message(), "was killed")
	pid, err := os.ReadFile(filepath.Join(folder, "pid"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !running(strings.TrimSpace(string(pid))) }, 10*time.Second, 10*time.Millisecond)
	failed = notifyStage(t, nil, activities.Hook{Name: "pager", Command: []string{"/no/such/program"}}).notify(notification())
	require.Contains(t, failed.Message(), "cannot be started")
}

// running reports whether a process runs. A process that has ended and that nobody has waited for does not count.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A hook that contradicts itself is an error at start.
func TestHooksAreChecked(t *testing.T) {
	for problem, hook := range map[string]activities.Hook{
		"hook : has no name":                   {URL: "https://example.com"},
		"hook a: needs either a URL":           {Name: "a"},
		"hook b: needs either a URL":           {Name: "b", URL: "https://example.com", Command: []string{"x"}},
		"hook c: has a command":                {Name: "c", Command: []string{"x"}, Secret: "s"},
		"hook d: has a URL":                    {Name: "d", URL: "https://example.com", Env: map[string]string{"A": "b"}},
		"hook e: has the timeout 1m0s":         {Name: "e", URL: "https://example.com", Timeout: time.Minute},
		`hook f: there is no occasion "never"`: {Name: "f", URL: "https://example.com", On: []agent.Occasion{"never"}},
		"hook g: the URL is not valid":         {Name: "g", URL: "example.com"},
		"hook h: the secret has 5 bytes":       {Name: "h", URL: "https://example.com", Secret: "short"},
	} {
		s := newStage(t, llmtest.Script())
		_, err := activities.New(activities.Options{
			Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: s.model}}, Agents: []activities.Agent{{Name: "x"}}, Notify: []activities.Hook{hook},
		})
		require.ErrorContains(t, err, problem)
	}
}

// The definition of an agent names the hooks and the occasions, and nothing else about them.
func TestDefinitionNamesTheHooks(t *testing.T) {
	s := notifyStage(t, nil,
		activities.Hook{Name: "pager", URL: "https://example.com/path", Secret: "a secret of enough bytes"},
		activities.Hook{Name: "mail", Command: []string{"mail"}, On: []agent.Occasion{agent.OnEnded}})
	s.named.key = "definition-1"
	value, err := s.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: "x"})
	require.NoError(t, err)
	var def agent.Definition
	require.NoError(t, value.Get(&def))
	require.Equal(t, []agent.Hook{{Name: "mail", On: []agent.Occasion{agent.OnEnded}}, {Name: "pager", On: agent.Occasions()}}, def.Notify)
}
