package calls_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Each request of an agent begins with the same bytes as the request before it, so that the prompt cache of the
// provider has this part. A new turn, another worker and another run of the agent change nothing.
func TestEachRequestBeginsWithTheOneBeforeIt(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	tools.Add("pay", nil, world.Echo)
	tools.Add("a_first", world.ReadOnly, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role != llm.User {
			return llmtest.Say("Done – with <b>all</b> & everything."), nil
		}
		reply := llmtest.Call(
			llmtest.ToolCall("1", "read", fmt.Sprintf(`{"z": %d,  "a":9007199254740993}`, world.Asked(req))), llmtest.ToolCall("2", "pay", `{}`))
		reply.Message.Content = "Let me see…"
		return reply, nil
	}, tools, "    instructions: Be brief.\n    tools: [far.*]\n    agents: [sub]\n  sub: {model: main}\n")
	yaml, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(strings.Replace(string(yaml), "model: scripted,", "model: scripted, temperature: 0.3, max_output_tokens: 2000, extra: {user: u, metadata: {b: 1, a: 2}},", 1))
	first := w.Worker()
	w.Must("run", "--chat", "-a", "x", "--id", t.Name(), "one")
	w.Must("send", t.Name(), "two")
	first.Kill()
	w.Worker()
	w.Must("send", t.Name(), "three")
	w.Must("upgrade", t.Name()) // the agent goes on in another run
	w.Must("send", t.Name(), "four")

	requests := w.Model.Requests()
	require.Len(t, requests, 8)
	before, messages, after := splitRequest(t, requests[0].Body)
	for i, r := range requests[1:] {
		thisBefore, thisMessages, thisAfter := splitRequest(t, r.Body)
		require.Equal(t, before, thisBefore, "request %d", i+1)
		require.Equal(t, after, thisAfter, "request %d", i+1)
		require.True(t, strings.HasPrefix(thisMessages, messages+","), "request %d does not go on from the one before:\n%s\n%s", i+1, messages, thisMessages)
		messages = thisMessages
	}
	for _, part := range []string{`"model":"scripted"`, `"tools":[`, `"temperature":`, `"metadata":`, `"user":"u"`} {
		require.Contains(t, before+after, part)
	}
}

// splitRequest splits the JSON text of a request into three parts. The result before ends where the list of messages
// begins. The result messages is this list without its brackets. The result after is the rest.
func splitRequest(t *testing.T, body []byte) (before, messages, after string) {
	t.Helper()
	fields := json.NewDecoder(bytes.NewReader(body))
	_, err := fields.Token()
	require.NoError(t, err)
	for fields.More() {
		name, err := fields.Token()
		require.NoError(t, err)
		var value json.RawMessage
		require.NoError(t, fields.Decode(&value))
		if name == "messages" {
			end := int(fields.InputOffset())
			begin := end - len(value)
			return string(body[:begin]), string(body[begin+1 : end-1]), string(body[end:])
		}
	}
	require.FailNow(t, "the request has no messages", string(body))
	return "", "", ""
}
