package standin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// postMessages sends a request to the Messages API of a handler and returns the status and the body of the response.
func postMessages(t *testing.T, handler http.Handler, body string) (int, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Anthropic-Version", "2023-06-01")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}

const (
	ask    = `{"role":"user","content":"x"}`
	use    = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}`
	back   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`
	marked = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
)

func TestRequestsThatAnthropicWouldRefuseAreRefused(t *testing.T) {
	t.Parallel()
	blocks := func(role, content string) string { return `{"role":"` + role + `","content":[` + content + `]}` }
	tests := map[string]struct{ messages, rest, says string }{
		"no messages":               {``, ``, "at least one message"},
		"the assistant begins":      {use + "," + back, ``, `must use the \"user\" role`},
		"the assistant ends":        {ask + `,{"role":"assistant","content":"x"}`, ``, "must end with a user message"},
		"a system message":          {ask + `,{"role":"system","content":"x"},` + ask, ``, "Input should be 'user' or 'assistant'"},
		"users in a row":            {ask + "," + ask, ``, "roles must alternate"},
		"an empty message":          {blocks("user", ""), ``, "non-empty content"},
		"an empty text":             {blocks("user", `{"type":"text","text":""}`), ``, "must be non-empty"},
		"white space":               {`{"role":"user","content":" \n"}`, ``, "non-whitespace"},
		"an empty text in a result": {ask + "," + use + "," + blocks("user", `{"type":"tool_result","tool_use_id":"1","content":""}`), ``, "must be non-empty"},
		"an unknown block":          {blocks("user", `{"type":"audio"}`), ``, "'audio'"},
		"a call of the user":        {blocks("user", `{"type":"tool_use","id":"1","name":"f","input":{}}`), ``, "'tool_use'"},
		"a bad image":               {blocks("user", `{"type":"image","source":{"type":"url","url":"data:image/png;base64,AA"}}`), ``, "valid image"},
		"no result":                 {ask + "," + use + "," + ask, ``, "without `tool_result` blocks immediately after: 1"},
		"a result of no call":       {blocks("user", `{"type":"tool_result","tool_use_id":"1"}`), ``, "unexpected `tool_use_id`"},
		"a result twice":            {ask + "," + use + "," + blocks("user", `{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"1"}`), ``, "unexpected `tool_use_id`"},
		"a result after text":       {ask + "," + use + "," + blocks("user", `{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"1"}`), ``, "must come before"},
		"an ID twice":               {ask + "," + use + "," + back + "," + use + "," + back, ``, "ids must be unique"},
		"an ID with a dot":          {ask + "," + strings.Replace(use, `"1"`, `"f.1"`, 1) + "," + back, ``, "String should match pattern"},
		"an input of text":          {ask + "," + strings.Replace(use, `{}`, `"{}"`, 1) + "," + back, ``, "Input should be an object"},
		"an unknown signature":      {ask + "," + blocks("assistant", `{"type":"thinking","thinking":"x","signature":"y"},{"type":"text","text":"x"}`) + "," + ask, ``, "Invalid `signature`"},
		"no signature":              {ask + "," + blocks("assistant", `{"type":"thinking","thinking":"x"},{"type":"text","text":"x"}`) + "," + ask, ``, "Field required"},
		"thinking at the end":       {ask + "," + blocks("assistant", `{"type":"redacted_thinking","data":"x"}`) + "," + ask, ``, "cannot be `thinking`"},
		"a budget without thinking": {ask + "," + use + "," + back, `,"thinking":{"type":"enabled","budget_tokens":1024}`, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
		"a small budget":            {ask, `,"thinking":{"type":"enabled","budget_tokens":1000}`, "greater than or equal to 1024"},
		"a budget beyond the limit": {ask, `,"thinking":{"type":"enabled","budget_tokens":5000}`, "must be greater than `thinking.budget_tokens`"},
		"a temperature":             {ask, `,"thinking":{"type":"adaptive"},"temperature":0.5`, "`temperature` may only be set to 1"},
		"an unknown effort":         {ask, `,"output_config":{"effort":"minimal"}`, "valid levels"},
		"an open schema":            {ask, `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`, "'additionalProperties' must be explicitly set to false"},
		"five marks":                {blocks("user", strings.Repeat(marked+",", 4)+marked), ``, "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"an unknown time":           {blocks("user", timed("2h")), ``, "cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},
		"a longer time later":       {blocks("user", marked+","+timed("1h")), ``, "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"},
		"a longer time than system": {blocks("user", timed("1h")), `,"system":[` + timed("5m") + `]`, "must not come after"},
		"another mark":              {blocks("user", strings.Replace(marked, "ephemeral", "persistent", 1)), ``, "expected tags: 'ephemeral'"},
		"a choice of no tools":      {ask, `,"tool_choice":{"type":"auto"}`, "while providing tools"},
		"a choice of another tool":  {ask, `,"tool_choice":{"type":"tool","name":"g"},"tools":[{"name":"f","input_schema":{"type":"object"}}]`, "not found"},
		"a tool twice":              {ask, `,"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, "unique"},
		"a tool without a schema":   {ask, `,"tools":[{"name":"f"}]`, "input_schema: Field required"},
		"a forced call":             {ask, `,"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},"tools":[{"name":"f","input_schema":{"type":"object"}}]`, "tool_choice forces tool use"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"model":"m","max_tokens":2000,"messages":[` + test.messages + `]` + test.rest + `}`
			status, answer := postMessages(t, llmtest.Handler(llmtest.Script(llmtest.Say("Hi."))), body)
			require.Equal(t, http.StatusBadRequest, status)
			var e struct{ Error struct{ Message string } }
			require.NoError(t, json.Unmarshal([]byte(answer), &e))
			require.Contains(t, e.Error.Message, strings.ReplaceAll(test.says, `\"`, `"`))
			require.Contains(t, answer, `{"type":"error","error":{"type":"invalid_request_error"`)

			status, _ = postMessages(t, &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."), llmtest.Say("Hi."), llmtest.Say("Hi.")), Lenient: true}, body)
			require.Equal(t, http.StatusOK, status)
		})
	}
	status, answer := postMessages(t, llmtest.Handler(llmtest.Script()), `{"model":"m","messages":[`+ask+`]}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "max_tokens: Field required")
}

// A request without the version of the API is refused.
func TestTheVersionOfTheMessagesAPIIsRequired(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("Hi.")))
	response, err := http.Post(server.URL+"/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":1,"messages":[`+ask+`]}`))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// The cache reads a stored part only at a mark, or at one of the 19 blocks before it, and only if all bytes are the same.
func TestPromptCacheReadsThePrefixThatWasStored(t *testing.T) {
	t.Parallel()
	const more = `{"type":"text","text":"y"}`
	request := func(system string, blocks ...string) string {
		return fmt.Sprintf(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":%q}],"messages":[{"role":"user","content":[%s]}]}`, system, strings.Join(blocks, ","))
	}
	added := func(n int) string { return request("s", marked, strings.Repeat(more+",", n-1)+marked) }
	for name, test := range map[string]struct {
		minimum int
		second  string
		reads   bool
	}{
		"the same":             {0, request("s", marked), true},
		"without the mark":     {0, request("s", strings.Replace(marked, `,"cache_control":{"type":"ephemeral"}`, "", 1), marked), true},
		"19 blocks more":       {0, strings.Replace(added(19), marked, strings.Replace(marked, `,"cache_control":{"type":"ephemeral"}`, "", 1), 1), true},
		"20 blocks more":       {0, strings.Replace(added(20), marked, strings.Replace(marked, `,"cache_control":{"type":"ephemeral"}`, "", 1), 1), false},
		"20 blocks and a mark": {0, added(20), true},
		"another system":       {0, request("t", marked), false},
		"another order":        {0, strings.Replace(request("s", marked), `"type":"text","text":"x"`, `"text":"x","type":"text"`, 1), false},
		"another choice":       {0, strings.Replace(request("s", marked), `"max_tokens"`, `"thinking":{"type":"disabled"},"max_tokens"`, 1), false},
		"a short prefix":       {1000, request("s", marked), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := &standin.PromptCache{}
			cached := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi.")), PromptCache: cache}
			cache.Minimum = test.minimum
			status, _ := postMessages(t, cached, request("s", marked))
			require.Equal(t, http.StatusOK, status)
			status, answer := postMessages(t, cached, test.second)
			require.Equal(t, http.StatusOK, status)
			first, second := cache.Counts()[0], cache.Counts()[1]
			require.Equal(t, test.minimum == 0, first.Written > 0)
			require.Equal(t, test.reads, second.Read > 0)
			if test.reads {
				require.Equal(t, first.Written, second.Read)
			}
			require.Contains(t, answer, fmt.Sprintf(`"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d`, second.New, second.Written, second.Read))
		})
	}
}

// timed returns a block with a mark for the given time.
func timed(ttl string) string {
	return `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
}

// Marks may be kept for shorter times the further back they are.
func TestMarksWithTimesAreAccepted(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","max_tokens":9,"system":[` + timed("1h") + `],"messages":[{"role":"user","content":[` + strings.Join([]string{timed("1h"), timed("5m"), marked}, ",") + `]}]}`
	status, answer := postMessages(t, llmtest.Handler(llmtest.Script(llmtest.Say("Hi."))), body)
	require.Equal(t, http.StatusOK, status, answer)
}
