package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const mildSchema = `{"type":"object","properties":{"mild":{"type":"boolean"}},"required":["mild"]}`

// older is a request to a model that takes a schema only for the input of a tool.
func older(tools ...llm.ToolSpec) llm.Request {
	req := ask()
	req.Candidates[0].Model = "claude-3-5-haiku-20241022"
	req.Tools, req.Params.OutputSchema = tools, json.RawMessage(mildSchema)
	return req
}

func finalAnswer(name string) llm.Reply {
	reply := llmtest.Call(llmtest.ToolCall("toolu_1", name, `{"mild":true}`))
	reply.Message.Content = "Here it is."
	return reply
}

// The answer of a model that knows only tools for structured output is the input of a tool that the caller does not see. The model must call
// it if there is nothing else to call, and may if there is. What it writes is understood, too.
func TestAnswerComesByATool(t *testing.T) {
	t.Parallel()
	look := llm.ToolSpec{Name: "look"}
	beside := finalAnswer("final_answer")
	beside.Message.ToolCalls = append(beside.Message.ToolCalls, llmtest.ToolCall("toolu_2", "look", "{}"))
	for name, test := range map[string]struct {
		req     func(*llm.Request)
		tools   []llm.ToolSpec
		reply   llm.Reply
		content string // of the reply; its only call is look if the content is not the answer
		has     string // in the last request
		not     string
	}{
		"no other tool":         {nil, nil, finalAnswer("final_answer"), `{"mild":true}`, `"tool_choice":{"type":"tool","name":"final_answer"}`, "Give your final answer only"},
		"another tool":          {nil, []llm.ToolSpec{look}, finalAnswer("final_answer"), `{"mild":true}`, "by a call of the tool final_answer.", `"tool_choice"`},
		"a tool of this name":   {nil, []llm.ToolSpec{{Name: "final_answer"}, look}, finalAnswer("final_answer_"), `{"mild":true}`, `"name":"final_answer_"`, `"tool_choice"`},
		"with thinking":         {func(r *llm.Request) { r.Params.ReasoningEffort = "high" }, nil, finalAnswer("final_answer"), `{"mild":true}`, `"thinking":{"type":"adaptive"`, `"tool_choice"`},
		"a text":                {nil, []llm.ToolSpec{look}, llmtest.Say(`{"mild":true}`), `{"mild":true}`, `"name":"final_answer"`, `"tool_choice"`},
		"another call first":    {nil, []llm.ToolSpec{look}, llmtest.Call(llmtest.ToolCall("toolu_2", "look", "{}")), "", `"name":"final_answer"`, `"tool_choice"`},
		"beside another call":   {nil, []llm.ToolSpec{look}, beside, "Here it is.", `"name":"final_answer"`, `"tool_choice"`},
		"no call is allowed":    {func(r *llm.Request) { r.Params.ToolChoice = "none" }, []llm.ToolSpec{look}, llmtest.Say(`{"mild":true}`), `{"mild":true}`, "fits this JSON schema", "final_answer"},
		"not the schema of one": {func(r *llm.Request) { r.Params.OutputSchema = json.RawMessage(`{"type":"boolean"}`) }, nil, llmtest.Say("true"), "true", "fits this JSON schema", "final_answer"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", streamed"}[stream], func(t *testing.T) {
				t.Parallel()
				endpoint := &standin.Endpoint{Client: llmtest.Script(test.reply, test.reply)}
				client := serve(t, endpoint)
				if !stream {
					client = serve(t, endpoint, noStream)
				}
				req := older(test.tools...)
				if test.req != nil {
					test.req(&req)
				}
				shown := ""
				reply, err := client.Complete(llm.WithStream(t.Context(), func(d llm.Delta) {
					if d.Whole {
						shown = ""
					}
					shown += d.Text
				}), req)
				require.NoError(t, err)
				require.Equal(t, test.content, reply.Message.Content)
				answers := test.content == `{"mild":true}` || test.content == "true"
				if stream && answers {
					require.Equal(t, test.content, shown)
				}
				require.Equal(t, answers, len(reply.Message.ToolCalls) == 0)
				require.True(t, answers || len(reply.Message.ToolCalls) == 1 && reply.Message.ToolCalls[0].Name == "look")
				requests := endpoint.Requests()
				require.Contains(t, string(requests[len(requests)-1].Body), test.has)
				require.NotContains(t, string(requests[len(requests)-1].Body), test.not)

				// The next request has the answer as a text, and the form is known.
				req.Messages = append(req.Messages, reply.Message)
				for _, call := range reply.Message.ToolCalls {
					req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "Mild."})
				}
				if len(reply.Message.ToolCalls) == 0 {
					req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Sure?"})
				}
				_, err = client.Complete(t.Context(), req)
				require.NoError(t, err)
				require.Len(t, endpoint.Requests(), len(requests)+1)
			})
		}
	}
}

// An endpoint that takes neither the schema nor the tool for the answer gets the schema in the instructions.
func TestAnswerComesAsATextIfThereAreNoTools(t *testing.T) {
	t.Parallel()
	p := &picky{next: llmtest.Handler(llmtest.Script(llmtest.Say(`{"mild":true}`))), refuse: rules(
		rule{format, "output_config.format: Extra inputs are not permitted"}, rule{`"tools"`, "This model does not support tools."},
	)}
	reply, err := serve(t, p).Complete(t.Context(), older())
	require.NoError(t, err)
	require.Equal(t, `{"mild":true}`, reply.Message.Content)
	require.Len(t, p.bodies(), 3)
	require.Contains(t, string(p.bodies()[2]), "fits this JSON schema")
}

// An answer that was cut before it began is no answer, and the cut text of one is not another value.
func TestCutAnswerIsNotCompleted(t *testing.T) {
	t.Parallel()
	for input, content := range map[string]string{`{"mild":tr`: `{"mild":tr`, "{}": ""} {
		reply := finalAnswer("final_answer")
		reply.Message.ToolCalls[0].Arguments, reply.FinishReason, reply.Message.Content = input, "length", ""
		endpoint := &standin.Endpoint{Client: llmtest.Script(reply)}
		got, err := serve(t, endpoint).Complete(t.Context(), older())
		if content == "" {
			require.ErrorIs(t, err, llm.ErrEmptyReply)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, content, got.Message.Content)
		require.Empty(t, got.Message.ToolCalls)
	}
}
