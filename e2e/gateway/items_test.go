package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Many clients send back the items of the conversation, and no ID of a response. The items say to which conversation they belong.
func TestItemsSentBack(t *testing.T) {
	w, _ := newShop(t)
	s := serve(w)
	says := func(text string) object { return object{"role": "user", "content": text} }
	item := func(response object) object { return response["output"].([]any)[0].(object) }
	first := s.must("POST", "/responses", object{"model": "x", "input": "hello"})
	reference := object{"type": "item_reference", "id": item(first)["id"]}
	for _, back := range []object{reference, item(first)} {
		next := s.must("POST", "/responses", object{"model": "x", "input": []any{says("hello"), back, says("again")}})
		require.Equal(t, "I heard /hello/again", text(next))
		more := s.must("POST", "/responses", object{"model": "x", "input": []any{says("hello"), back, says("again"), item(next), says("more")}})
		require.Equal(t, "I heard /hello/again/more", text(more))
		require.Equal(t, next["conversation"], more["conversation"])
	}

	weather := []any{object{"type": "function", "name": "weather", "parameters": object{"type": "object"}}}
	call := item(s.must("POST", "/responses", object{"model": "x", "input": "weather", "tools": weather}))
	delete(call, "id") // not all clients send it
	result := object{"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}
	told := s.must("POST", "/responses", object{"model": "x", "tools": weather, "input": []any{says("weather"), call, result}})
	require.Equal(t, "The tool says: sun", text(told))
	require.Equal(t, told, s.must("POST", "/responses", object{"model": "x", "tools": weather, "input": []any{result}}), "the call names the response that asks")
	thanks := s.must("POST", "/responses", object{"model": "x", "tools": weather, "input": []any{says("weather"), call, result, item(told), says("thanks")}})
	require.Equal(t, "I heard /weather/thanks", text(thanks))
	result["output"] = "rain"
	status, other := s.gets("POST", "/responses", object{"model": "x", "tools": weather, "input": []any{says("weather"), call, result}})
	require.Equal(t, http.StatusConflict, status, other)

	items := s.must("GET", "/conversations/"+thanks["conversation"].(object)["id"].(string)+"/items?order=asc", nil)["data"].([]any)
	require.Len(t, items, 5)
	require.Equal(t, call["call_id"], items[1].(object)["call_id"])
	require.Equal(t, item(told), items[2])
	require.Equal(t, item(thanks), items[4])

	reference["id"] = "msg_" + "eyJhIjoibm9ib2R5IiwibSI6ImZpcnN0In0" + ".reply" // of an agent that there is not
	status, gone := s.gets("POST", "/responses", object{"model": "x", "input": []any{reference, says("again")}})
	require.Equal(t, http.StatusBadRequest, status, gone)
	require.Equal(t, "previous_response_not_found", gone["error"].(object)["code"])
	w.NothingTwice()
}
