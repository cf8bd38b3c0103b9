package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const long = "The quick brown fox jumps over the lazy dog, and then it goes on to another dog."

// shop is a model that pays if it is told so, calls the tool of the client if it is told so, and otherwise says what it has heard.
func shop(_ context.Context, req llm.Request) (llm.Reply, error) {
	said := ""
	for _, m := range req.Messages {
		if m.Role == llm.User {
			said += "/" + m.Content
		}
	}
	switch last := req.Messages[len(req.Messages)-1]; {
	case last.Role == llm.Tool:
		return llmtest.Say("The tool says: " + last.Content), nil
	case strings.HasPrefix(last.Content, "pay"):
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{"to":"kim"}`)), nil
	case last.Content == "ask":
		return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Which colour?"}`)), nil
	case strings.HasPrefix(last.Content, "look"):
		return llmtest.Call(llmtest.ToolCall("1", "look", `{"at":"plums"}`)), nil
	case strings.HasPrefix(last.Content, "weather"):
		return llmtest.Call(llmtest.ToolCall("1", "weather", `{"city":"Bern"}`)), nil
	case last.Content == "long":
		return llmtest.Say(long), nil
	case last.Content == "json":
		return llmtest.Say(`{"sum":3}`), nil
	}
	return llmtest.Say("I heard " + said), nil
}

func newShop(t *testing.T) (*world.World, *world.ToolServer) {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	tools.Add("look", nil, world.Echo)
	w := world.New(t, shop, tools, "    tools: [far.*, ask_user]\n    approval: {default: never, far.pay: always}\n")
	w.Worker()
	return w, tools
}

func TestResponses(t *testing.T) {
	w, tools := newShop(t)
	s := serve(w)

	models := s.must("GET", "/models", nil)
	require.Equal(t, "x", models["data"].([]any)[0].(object)["id"])

	first := s.must("POST", "/responses", object{"model": "x", "input": "hello", "metadata": object{"order": "7"}})
	require.Equal(t, "completed", first["status"])
	require.Equal(t, "I heard /hello", text(first))
	require.Equal(t, object{"order": "7"}, first["metadata"])
	require.Equal(t, first, s.must("GET", "/responses/"+first["id"].(string), nil), "the response stays as it is")

	second := s.must("POST", "/responses", object{"model": "x", "input": "again", "previous_response_id": first["id"]})
	require.Equal(t, "I heard /hello/again", text(second))
	require.Equal(t, first["id"], second["previous_response_id"])
	branch := s.must("POST", "/responses", object{"model": "x", "input": "other", "previous_response_id": first["id"]})
	require.Equal(t, "I heard /hello/other", text(branch), "a second response to the same one is a branch")
	require.NotEqual(t, second["conversation"], branch["conversation"])
	third := s.must("POST", "/responses", object{"input": "once more", "conversation": second["conversation"], "model": "x"})
	require.Equal(t, "I heard /hello/again/once more", text(third))

	call := s.must("POST", "/responses", object{"model": "x", "input": "look"})
	require.Equal(t, []string{"mcp_call", "message"}, types(call))
	require.Len(t, tools.Effects(), 1)

	asks := s.must("POST", "/responses", object{"model": "x", "input": "pay"})
	require.Equal(t, []string{"mcp_approval_request"}, types(asks))
	require.Equal(t, "completed", asks["status"])
	request := asks["output"].([]any)[0].(object)
	require.JSONEq(t, `{"to":"kim"}`, request["arguments"].(string))
	status, refused := s.gets("POST", "/responses", object{"model": "x", "input": "go on", "previous_response_id": asks["id"]})
	require.Equal(t, http.StatusBadRequest, status, refused)
	yes := object{"model": "x", "previous_response_id": asks["id"], "input": []any{object{"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": true}}}
	paid := s.must("POST", "/responses", yes)
	require.Equal(t, []string{"mcp_call", "message"}, types(paid))
	require.Equal(t, asks["id"], paid["previous_response_id"])
	require.Equal(t, paid, s.must("POST", "/responses", yes), "the same decision is decided once")
	require.Len(t, tools.Effects(), 2)
	yes["input"].([]any)[0].(object)["approve"] = false
	status, _ = s.gets("POST", "/responses", yes)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, asks, s.must("GET", "/responses/"+asks["id"].(string), nil), "what was asked stays as it was")

	question := s.must("POST", "/responses", object{"model": "x", "input": "ask"})
	require.Equal(t, "Which colour?", text(question))
	red := object{"model": "x", "input": "red", "previous_response_id": question["id"]}
	require.Equal(t, "The tool says: red", text(s.must("POST", "/responses", red)))
	question = s.must("POST", "/responses", object{"model": "x", "input": "ask"})
	require.Equal(t, "The tool says: blue", text(s.must("POST", "/responses", object{"model": "x", "input": "blue", "conversation": question["conversation"]})))

	weather := object{"type": "function", "name": "weather", "parameters": object{"type": "object"}}
	out := s.must("POST", "/responses", object{"model": "x", "input": "weather", "tools": []any{weather}})
	require.Equal(t, []string{"function_call"}, types(out))
	function := out["output"].([]any)[0].(object)
	result := object{"model": "x", "previous_response_id": out["id"], "input": []any{object{"type": "function_call_output", "call_id": function["call_id"], "output": "sun"}}}
	sunny := s.must("POST", "/responses", result)
	require.Equal(t, "The tool says: sun", text(sunny))
	require.Equal(t, []string{"message"}, types(sunny))
	require.Equal(t, sunny, s.must("POST", "/responses", result))

	schema := object{"type": "object", "properties": object{"sum": object{"type": "integer"}}, "required": []string{"sum"}}
	sum := s.must("POST", "/responses", object{"model": "x", "input": "json", "text": object{"format": object{"type": "json_schema", "name": "sum", "schema": schema}}})
	require.JSONEq(t, `{"sum":3}`, text(sum))

	status, gone := s.gets("GET", "/responses/resp_none", nil)
	require.Equal(t, http.StatusNotFound, status, gone)
	status, gone = s.gets("POST", "/responses", object{"model": "nobody", "input": "hello"})
	require.Equal(t, http.StatusNotFound, status, gone)
	require.Equal(t, "model_not_found", gone["error"].(object)["code"])

	require.Equal(t, "hello", s.must("GET", "/responses/"+first["id"].(string)+"/input_items", nil)["data"].([]any)[0].(object)["content"].([]any)[0].(object)["text"])
	w.NothingTwice()
}

// A stream is the same on each replica, from each event on.
func TestResponseStream(t *testing.T) {
	w, _ := newShop(t)
	s, other := serve(w), serve(w)
	for _, input := range []string{"long", "look", "pay"} {
		all := s.stream("POST", "/responses", object{"model": "x", "input": input, "stream": true})
		for i, e := range all {
			require.Equal(t, e.name, e.object["type"])
			require.EqualValues(t, i, e.object["sequence_number"])
		}
		require.Equal(t, "response.created", all[0].name)
		require.Equal(t, "response.completed", all[len(all)-1].name)
		id := all[0].object["response"].(object)["id"].(string)
		require.Equal(t, all, other.stream("GET", "/responses/"+id+"?stream=true", nil))
		for after := 0; after < len(all); after += 3 {
			require.Equal(t, all[after+1:], other.stream("GET", "/responses/"+id+"?stream=true&starting_after="+string(rune('0'+after/100%10))+string(rune('0'+after/10%10))+string(rune('0'+after%10)), nil))
		}
		require.Equal(t, all[len(all)-1].object["response"], other.must("GET", "/responses/"+id, nil))
	}
}
