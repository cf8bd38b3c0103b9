package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// The status and the reason of a response decide whether it is a reply, streamed or not.
func TestResponsesThatAreNotCompleteAreNoReplies(t *testing.T) {
	t.Parallel()
	const (
		said     = `{"type":"message","content":[{"type":"output_text","text":"The steps are: fir"}]}`
		called   = `{"type":"function_call","call_id":"a","name":"list_files","arguments":"{}"}`
		refused  = `{"type":"message","content":[{"type":"refusal","refusal":"I cannot help."}]}`
		reasoned = `{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}`
	)
	for name, test := range map[string]struct {
		end    string // members of the response
		items  string
		class  llm.Class // empty if the response is a reply
		finish string
	}{
		"complete":               {`"status":"completed"`, said, "", "stop"},
		"complete with a call":   {`"status":"completed"`, said + "," + called, "", "tool_calls"},
		"no status":              {`"error":null`, said, "", "stop"},
		"at the limit":           {`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, said, "", "length"},
		"at the limit, no text":  {`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, reasoned, llm.EmptyReply, "length"},
		"filtered":               {`"status":"incomplete","incomplete_details":{"reason":"content_filter"}`, said, llm.Filtered, "content_filter"},
		"filtered, no text":      {`"status":"incomplete","incomplete_details":{"reason":"content_filter"}`, "", llm.Filtered, "content_filter"},
		"another reason":         {`"status":"incomplete","incomplete_details":{"reason":"lunch"}`, said, llm.BadReply, "lunch"},
		"no reason":              {`"status":"incomplete","incomplete_details":null`, called, llm.BadReply, "incomplete"},
		"refused":                {`"status":"completed"`, refused, llm.Filtered, "stop"},
		"refused beside text":    {`"status":"completed"`, said + "," + refused, "", "stop"},
		"empty":                  {`"status":"completed"`, "", llm.EmptyReply, "stop"},
		"only reasoning":         {`"status":"completed"`, reasoned, llm.EmptyReply, "stop"},
		"failed":                 {`"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}`, said, llm.RateLimited, ""},
		"failed without a cause": {`"status":"failed","error":null`, said, llm.ServerError, "failed"},
		"cancelled":              {`"status":"cancelled"`, said, llm.ServerError, "cancelled"},
		"an error, no status":    {`"error":{"code":"server_error","message":"no luck"}`, said, llm.ServerError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := fmt.Sprintf(`{"object":"response","model":"m","output":[%s],"usage":{"output_tokens":3},%s}`, test.items, test.end)
			kind := "completed"
			if strings.Contains(test.end, "incomplete") {
				kind = "incomplete"
			}
			streamed := fmt.Sprintf("data: {\"type\":\"response.%s\",\"response\":%s}\n\n", kind, whole)
			for kind, body := range map[string]string{"application/json": whole, "text/event-stream": streamed} {
				reply, _, err := replied(t, kind, strings.NewReader(body))
				if test.class == "" {
					require.NoError(t, err)
					require.Equal(t, test.finish, reply.FinishReason)
					continue
				}
				var told *llm.Error
				require.ErrorAs(t, err, &told)
				require.Equal(t, test.class, told.Class, "%v", err)
				require.Equal(t, test.finish, told.FinishReason)
				if test.class == llm.EmptyReply || test.class == llm.Filtered {
					require.Equal(t, 3, told.Usage.OutputTokens)
				}
			}
		})
	}

	for _, status := range []string{"in_progress", "queued"} {
		_, _, err := replied(t, "application/json", strings.NewReader(`{"object":"response","status":"`+status+`","output":[`+said+`]}`))
		require.ErrorIs(t, err, &llm.Error{Class: llm.BadReply})
		require.ErrorContains(t, err, status)
	}
}

// Arguments that were cut at the limit are never completed, so the agent does not run the call.
func TestResponsesCallThatIsCutStaysCut(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{``: `{`, `{\"path\":\"a`: `{"path":"a`} {
		reply, _, err := replied(t, "application/json", strings.NewReader(`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[`+
			`{"type":"function_call","status":"incomplete","call_id":"a","name":"list_files","arguments":"`+written+`"}]}`))
		require.NoError(t, err)
		require.Equal(t, want, reply.Message.ToolCalls[0].Arguments)
	}
}

// The client corrects the same mistakes in tool calls as with chat completions.
func TestResponsesCallsAreRepaired(t *testing.T) {
	t.Parallel()
	reply, _, err := replied(t, "application/json", strings.NewReader(`{"output":[
		{"type":"function_call","call_id":"a","name":"List-Files","arguments":""},
		{"type":"function_call","call_id":"a","name":"get_weather","arguments":{"city":"Paris"}},
		{"type":"function_call","call_id":null,"id":"fc_3","name":"list_files","arguments":null},
		{"type":"message","content":"<think>Hm.</think>Let me look."}]}`))
	require.NoError(t, err)
	require.Equal(t, []llm.ToolCall{
		{ID: "a", Name: "list_files", Arguments: "{}"}, {ID: "call_1", Name: "get_weather", Arguments: `{"city":"Paris"}`}, {ID: "fc_3", Name: "list_files", Arguments: "{}"},
	}, reply.Message.ToolCalls)
	require.Equal(t, "Let me look.", reply.Message.Content)
	require.Equal(t, "Hm.", reply.Message.Reasoning)
	require.Len(t, reply.Repaired, 3)
}
