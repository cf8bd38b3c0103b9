package standin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// respond sends a body to the Responses API of the server, and returns the status and the body of the response.
func respond(t *testing.T, server *standin.Server, body string) (status int, answer string) {
	t.Helper()
	response, err := http.Post(server.URL+"/responses", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	encoded, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(encoded)
}

// madeReasoning returns an item of reasoning that the stand-in has made.
func madeReasoning(t *testing.T, server *standin.Server) string {
	t.Helper()
	status, answer := respond(t, server, `{"model":"m","input":[{"role":"user","content":"2+2?"}]}`)
	require.Equal(t, http.StatusOK, status)
	var body struct{ Output []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(answer), &body))
	require.Len(t, body.Output, 2)
	require.Contains(t, string(body.Output[0]), `"encrypted_content":"`)
	return string(body.Output[0])
}

func TestResponsesAPIRefusesWhatOpenAIRefuses(t *testing.T) {
	t.Parallel()
	reply := llmtest.Say("4")
	reply.Message.Reasoning = "Two and two."
	server := serve(t, llmtest.Script(reply, reply, reply))
	made := madeReasoning(t, server)

	const (
		user   = `{"type":"message","role":"user","content":"hello"}`
		said   = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}],"phase":"commentary"}`
		call   = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
		result = `{"type":"function_call_output","call_id":"a","output":""}`
		tool   = `{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}`
	)
	input := func(items ...string) string {
		return `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[` + strings.Join(items, ",") + `],"tools":[` + tool + `]}`
	}
	with := func(members string) string { return `{"model":"m","input":[` + user + `],` + members + `}` }
	long := strings.Repeat("x", 65)
	for name, test := range map[string]struct{ body, says string }{
		"a conversation":         {input(`{"role":"system","content":""}`, user, made, said, made, call, result, `{"role":"user","content":[{"type":"input_text","text":""},{"type":"input_image","image_url":"u"}]}`), ""},
		"parameters":             {with(`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"f"},"seed_":1,"stream":true,"stream_options":{"include_obfuscation":false},"text":{"format":{"type":"json_schema","name":"n","schema":{}}}`), ""},
		"no model":               {`{"input":[` + user + `]}`, "'model'"},
		"no input":               {`{"model":"m","input":[]}`, "'input'"},
		"not JSON":               {`{`, "parse the JSON body"},
		"messages":               {with(`"messages":[]`), "has moved to 'input'"},
		"seed":                   {with(`"seed":1`), "Unknown parameter: 'seed'"},
		"a long key of a cache":  {with(`"prompt_cache_key":"` + long + `"`), "Invalid 'prompt_cache_key': string too long"},
		"max_tokens":             {with(`"max_tokens":100`), "Unknown parameter: 'max_tokens'"},
		"few tokens":             {with(`"max_output_tokens":1`), "integer below minimum value"},
		"a stored response":      {with(`"previous_response_id":"resp_1"`), "not found"},
		"options, no stream":     {with(`"stream_options":{}`), "only allowed when 'stream' is enabled"},
		"a choice without tools": {with(`"tool_choice":"required"`), "require tools"},
		"a choice of no tool":    {with(`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"g"}`), "'g' not found"},
		"chat's choice":          {with(`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"f"}}`), "'tool_choice.name'"},
		"chat's tool":            {with(`"tools":[{"type":"function","function":{"name":"f"}}]`), "'tools[0].name'"},
		"another tool":           {with(`"tools":[{"type":"x"}]`), "Invalid value: 'x'"},
		"a bad name":             {with(`"tools":[` + strings.Replace(tool, `"f"`, `"f g"`, 1) + `]`), "does not match pattern"},
		"a tool twice":           {with(`"tools":[` + tool + "," + tool + `]`), "unique"},
		"no parameters":          {with(`"tools":[{"type":"function","name":"f","strict":false}]`), "'tools[0].parameters'"},
		"no properties":          {with(`"tools":[` + strings.Replace(tool, `,"properties":{}`, "", 1) + `]`), "object schema missing properties"},
		"no object":              {with(`"tools":[` + strings.Replace(tool, `"object"`, `"string"`, 1) + `]`), "schema must be a JSON Schema of 'type: \\\"object\\\"'"},
		"strict by default":      {with(`"tools":[` + strings.Replace(tool, `,"strict":false`, "", 1) + `]`), "'additionalProperties' is required"},
		"strict":                 {with(`"tools":[` + strings.Replace(tool, `false`, "true", 1) + `]`), "'additionalProperties' is required"},
		"a format, no name":      {with(`"text":{"format":{"type":"json_schema","schema":{}}}`), "'text.format.name'"},
		"a format, no schema":    {with(`"text":{"format":{"type":"json_schema","name":"n"}}`), "'text.format.schema'"},

		"no content":            {input(`{"role":"user"}`), "'input[0].content'"},
		"null":                  {input(`{"role":"user","content":null}`), "'input[0].content'"},
		"another role":          {input(`{"role":"tool","content":""}`), "Invalid value: 'tool'"},
		"another type":          {input(`{"type":"x"}`), "Invalid value: 'x'"},
		"a number":              {input(`{"role":"user","content":7}`), "Invalid type"},
		"input of assistant":    {input(`{"role":"assistant","content":[{"type":"input_text","text":""}]}`), "Invalid value: 'input_text'"},
		"output of user":        {input(`{"role":"user","content":[{"type":"output_text","text":""}]}`), "Invalid value: 'output_text'"},
		"no text":               {input(`{"role":"user","content":[{"type":"input_text"}]}`), "'input[0].content[0].text'"},
		"no image":              {input(`{"role":"user","content":[{"type":"input_image"}]}`), "'input[0].content[0].image_url'"},
		"a phase of user":       {input(`{"role":"user","content":"","phase":"commentary"}`), "Unknown parameter"},
		"an unknown phase":      {input(`{"role":"assistant","content":"","phase":"x"}`), "Supported values are: 'commentary'"},
		"an ID of a message":    {input(strings.Replace(said, `"role"`, `"id":"msg_1","role"`, 1)), "'msg_1' not found. Items are not persisted"},
		"an ID of a call":       {input(strings.Replace(call, `"name"`, `"id":"fc_1","name"`, 1), result), "'fc_1' not found. Items are not persisted"},
		"no call":               {input(user, result), "No tool call found for function call output with call_id a"},
		"no result":             {input(user, call, user), "No tool output found for function call a"},
		"the result first":      {input(user, result, call), "No tool call found"},
		"two results":           {input(user, call, result, result), "Duplicate function_call_output"},
		"an ID twice":           {input(user, call, result, call, result), "Duplicate 'call_id'"},
		"a long ID":             {input(strings.Replace(call, `"a"`, `"`+long+`"`, 1)), "maximum length 64"},
		"a long ID of a result": {input(call, result, strings.Replace(result, `"a"`, `"`+long+`"`, 1)), "maximum length 64"},
		"an empty ID":           {input(strings.Replace(call, `"a"`, `""`, 1)), "empty string"},
		"no ID":                 {input(strings.Replace(call, `"call_id":"a",`, ``, 1)), "'input[0].call_id'"},
		"no name":               {input(strings.Replace(call, `"name":"f",`, ``, 1)), "'input[0].name'"},
		"a bad name of a call":  {input(strings.Replace(call, `"f"`, `"f.g"`, 1)), "does not match pattern"},
		"no arguments":          {input(strings.Replace(call, `,"arguments":"{}"`, ``, 1)), "'input[0].arguments'"},
		"no object of a call":   {input(strings.Replace(call, `"{}"`, `"{"`, 1)), "not a JSON object"},
		"no output":             {input(call, strings.Replace(result, `,"output":""`, ``, 1)), "'input[1].output'"},

		"reasoning at the end":     {input(user, made), "without its required following item"},
		"reasoning before a user":  {input(user, made, user), "without its required following item"},
		"reasoning, changed":       {input(user, strings.Replace(made, `"encrypted_content":"`, `"encrypted_content":"AAAA`, 1), said), "could not be verified"},
		"reasoning, not encrypted": {input(user, `{"type":"reasoning","id":"rs_1","summary":[]}`, said), "'rs_1' not found. Items are not persisted"},
		"reasoning, another ID":    {input(user, strings.Replace(made, `"rs_`, `"rs_0`, 1), said), "could not be verified"},
		"reasoning, no summary":    {input(user, `{"type":"reasoning","id":"rs_1"}`, said), "'input[1].summary'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := respond(t, server, test.body)
			if test.says == "" {
				require.Equal(t, http.StatusOK, status, answer)
				return
			}
			require.GreaterOrEqual(t, status, http.StatusBadRequest, answer)
			require.Contains(t, answer, test.says)
			require.Contains(t, answer, `"type":"invalid_request_error"`)
		})
	}
}

// The events of a stream have the names and numbers that OpenAI documents, and their texts make the text of the reply.
func TestResponsesAPIStreamsEvents(t *testing.T) {
	t.Parallel()
	reply := llmtest.Call(llmtest.ToolCall("a", "f", "{}"))
	reply.Message.Content, reply.Message.Reasoning = "I call f now.", "Hm."
	server := serve(t, llmtest.Script(reply))
	_, answer := respond(t, server, `{"model":"m","stream":true,"input":[{"role":"user","content":"go"}]}`)

	var types []string
	var text string
	for i, part := range strings.Split(strings.TrimSpace(answer), "\n\n") {
		name, data, found := strings.Cut(part, "\ndata: ")
		require.True(t, found, part)
		var event struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Delta    string
		}
		require.NoError(t, json.Unmarshal([]byte(data), &event))
		require.Equal(t, "event: "+event.Type, name)
		require.Equal(t, i, event.Sequence)
		if event.Type == "response.output_text.delta" {
			text += event.Delta
		}
		if len(types) == 0 || types[len(types)-1] != event.Type {
			types = append(types, event.Type)
		}
	}
	require.Equal(t, "I call f now.", text)
	require.Equal(t, []string{
		"response.created", "response.in_progress",
		"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
		"response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
		"response.completed",
	}, types)
}

// The Endpoint's client gets the conversation, without what only OpenAI can read.
func TestResponsesAPIRequestIsAConversation(t *testing.T) {
	t.Parallel()
	reply := llmtest.Say("4")
	reply.Message.Reasoning = "Two and two."
	server := serve(t, llmtest.Script(reply, reply, reply))
	made := madeReasoning(t, server)
	status, answer := respond(t, server, `{"model":"m","instructions":"Be brief.","input":[{"role":"user","content":"2+2?"},`+made+`,
		{"role":"assistant","content":"Let me "},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"look."}]},
		{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"u"}]}]}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, []llm.Message{
		{Role: llm.System, Content: "Be brief."},
		{Role: llm.User, Content: "2+2?"},
		{Role: llm.Assistant, Content: "Let me look.", ToolCalls: []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
		{Role: llm.Tool, ToolCallID: "a", Parts: []llm.Part{{Type: "image", URL: "u"}}},
	}, server.Requests()[1].Request.Messages)
}
