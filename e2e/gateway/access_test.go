package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// key makes an API key with the command, and adds its entry to the access file.
func key(w *world.World, file, name string, args ...string) string {
	out := w.Must(append([]string{"serve", "key", name}, args...)...)
	secret, rest, found := strings.Cut(out, "\n")
	require.True(w.T, found, out)
	_, entry, found := strings.Cut(rest, ":\n\n")
	require.True(w.T, found, out)
	old, err := os.ReadFile(file)
	if err != nil {
		old = []byte("keys:\n")
	}
	require.NoError(w.T, os.WriteFile(file, append(old, []byte("  "+strings.TrimSpace(entry)+"\n")...), 0o600))
	return secret
}

// A key sees and touches only its own conversations, and only as its scopes say. What belongs to somebody else looks as if it were not there.
func TestKeySeesItsOwnConversationsOnly(t *testing.T) {
	w, tools := newShop(t)
	file := filepath.Join(t.TempDir(), "access.yaml")
	alice, mallory := key(w, file, "alice"), key(w, file, "mallory")
	talks, admin := key(w, file, "talks", "--scopes", "talk,read"), key(w, file, "admin", "--all")
	elsewhere := key(w, file, "elsewhere", "--agents", "other-*")
	s := serve(w, "--access", file)
	a, m := s.as(alice), s.as(mallory)

	status, refused := s.gets("GET", "/models", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	require.NotEmpty(t, refused["error"].(object)["message"])
	status, _ = s.as("rg_wrong").with("X-Forwarded-User", "alice").gets("GET", "/models", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Empty(t, s.as(elsewhere).must("GET", "/models", nil)["data"])
	status, _ = s.as(elsewhere).gets("POST", "/responses", object{"model": "x", "input": "hello"})
	require.Equal(t, http.StatusForbidden, status)

	asks := a.must("POST", "/responses", object{"model": "x", "input": "pay"})
	id, conversation := asks["id"].(string), asks["conversation"].(object)["id"].(string)
	yes := object{"model": "x", "previous_response_id": id, "input": []any{
		object{"type": "mcp_approval_response", "approval_request_id": asks["output"].([]any)[0].(object)["id"], "approve": true},
	}}
	for _, path := range []string{"/responses/" + id, "/responses/" + id + "/input_items", "/conversations/" + conversation, "/conversations/" + conversation + "/items", "/responses/" + id + "?stream=true"} {
		status, _ := m.gets("GET", path, nil)
		require.Equal(t, http.StatusNotFound, status, path)
		require.Equal(t, http.StatusOK, a.request("GET", path, nil).StatusCode, path)
		require.Equal(t, http.StatusOK, s.as(admin).request("GET", path, nil).StatusCode, path)
	}
	for path, body := range map[string]object{
		"/responses":                   yes,
		"/responses/" + id + "/cancel": nil,
	} {
		status, _ := m.gets("POST", path, body)
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, status, path)
	}
	status, _ = m.gets("POST", "/responses", object{"model": "x", "conversation": conversation, "input": "hello"})
	require.Equal(t, http.StatusNotFound, status)
	status, _ = m.gets("POST", "/responses", object{"model": "x", "previous_response_id": id, "input": "hello"})
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = m.gets("DELETE", "/conversations/"+conversation, nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Empty(t, tools.Effects())

	mine := s.as(talks).must("POST", "/responses", object{"model": "x", "input": "pay"})
	yes["previous_response_id"] = mine["id"]
	yes["input"].([]any)[0].(object)["approval_request_id"] = mine["output"].([]any)[0].(object)["id"]
	status, _ = s.as(talks).gets("POST", "/responses", yes)
	require.Equal(t, http.StatusForbidden, status, "a key without the scope approves nothing")
	status, _ = s.as(talks).gets("POST", "/chat/completions", object{"model": "x", "messages": messages("pay")})
	require.Equal(t, http.StatusOK, status)
	status, _ = s.as(talks).gets("POST", "/chat/completions", object{"model": "x", "messages": messages("pay", "?", "yes")})
	require.Equal(t, http.StatusForbidden, status)
	question := s.as(talks).must("POST", "/responses", object{"model": "x", "input": "ask"})
	status, _ = s.as(talks).gets("POST", "/responses", object{"model": "x", "input": "red", "previous_response_id": question["id"]})
	require.Equal(t, http.StatusForbidden, status, "nor does it answer questions")
	status, _ = s.as(talks).gets("POST", "/responses", object{"model": "x", "input": "red", "conversation": question["conversation"]})
	require.Equal(t, http.StatusConflict, status)
	require.Empty(t, tools.Effects())

	require.Equal(t, "I heard /hello", a.with("X-Conversation-Id", "1").chat("hello"))
	require.Equal(t, "I heard /hello", m.with("X-Conversation-Id", "1").chat("hello"), "the header of somebody else names another conversation")
	require.Equal(t, "I heard /hello/mine", a.with("X-Conversation-Id", "1").chat("hello", "?", "mine"))

	status, _ = a.gets("POST", "/responses", object{"model": "x", "input": "hello", "metadata": object{"gateway.owner": "key:mallory"}})
	require.Equal(t, http.StatusBadRequest, status, "nobody names the owner")
	status, _ = a.gets("POST", "/responses", object{"model": "x", "input": strings.Repeat("x", 10<<20)})
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	trail := w.Must("audit", strings.TrimSpace(agentOf(t, conversation)))
	require.Contains(t, trail, "key:alice")
}
