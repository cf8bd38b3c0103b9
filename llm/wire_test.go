package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/openai"
)

// wireCase is a case in testdata/wire: the responses of an endpoint, and what the client has to make of them. The README there describes
// the fields.
type wireCase struct {
	Name, Wire string
	Modes      []string
	wireResponse
	Then   *wireResponse
	Params struct {
		ReasoningEffort string          `json:"reasoning_effort"`
		MaxOutputTokens int             `json:"max_output_tokens"`
		Temperature     *float64        `json:"temperature"`
		TopP            *float64        `json:"top_p"`
		Seed            *int            `json:"seed"`
		ToolChoice      string          `json:"tool_choice"`
		OutputSchema    json.RawMessage `json:"output_schema"`
		Parallel        *bool           `json:"parallel_tool_calls"`
		Extra           map[string]json.RawMessage
	}
	Expect struct {
		Outcome string
		Class   []llm.Class
		Calls   []struct {
			Name      string
			Arguments json.RawMessage
		}
		Content       *string
		Reasoning     string
		Finish        string
		Usage         map[string]int
		Requests      int
		Resend        []string
		ResendNot     []string `json:"resend_not"`
		ErrorContains string   `json:"error_contains"`
	}
}

type wireResponse struct {
	Status     int
	Headers    map[string]string
	Body       json.RawMessage
	SSE        []string
	LineEnd    string `json:"line_end"`
	Chunk      int
	Disconnect bool
}

// send writes the response.
func (r wireResponse) send(w http.ResponseWriter) {
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	body := []byte(r.Body)
	var text string
	switch {
	case r.SSE != nil:
		end := r.LineEnd
		if end == "" {
			end = "\n"
		}
		body = []byte(strings.Join(r.SSE, end))
	case json.Unmarshal(r.Body, &text) == nil:
		body = []byte(text)
	}
	size := r.Chunk
	if size == 0 {
		size = max(len(body), 1)
	}
	for part := range slices.Chunk(body, size) {
		_, _ = w.Write(part)
		w.(http.Flusher).Flush()
	}
	if r.Disconnect {
		panic(http.ErrAbortHandler)
	}
}

// Every response of the catalogue becomes the reply or the error that a good client makes of it.
func TestWireCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/wire/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		encoded, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range bytes.Lines(encoded) {
			var c wireCase
			require.NoError(t, json.Unmarshal(line, &c), "%s: %.100s", file, line)
			for _, mode := range c.Modes {
				t.Run(c.Wire+"/"+c.Name+"/"+mode, func(t *testing.T) {
					t.Parallel()
					c.run(t, mode == "stream")
				})
			}
		}
	}
}

func (c wireCase) run(t *testing.T, stream bool) {
	var asked atomic.Int32
	var last atomic.Pointer[string]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		text := body.String()
		last.Store(&text)
		if asked.Add(1) > 1 && c.Then != nil {
			c.Then.send(w)
			return
		}
		c.send(w)
	}))
	t.Cleanup(server.Close)
	var client llm.Client
	var err error
	switch c.Wire {
	case "anthropic":
		client, err = anthropic.New(anthropic.Options{BaseURL: server.URL, NoStream: !stream})
	case "responses":
		client, err = openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ResponsesAPI, NoStream: !stream})
	default:
		client, err = openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ChatAPI, NoStream: !stream})
	}
	require.NoError(t, err)
	req := llm.Request{
		Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Tools: wireTools,
		Messages: []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
	}
	p := c.Params
	req.Params.ReasoningEffort, req.Params.MaxOutputTokens, req.Params.OutputSchema = p.ReasoningEffort, p.MaxOutputTokens, p.OutputSchema
	req.Params.ToolChoice, req.Params.TopP, req.Params.Seed = p.ToolChoice, p.TopP, p.Seed
	req.Params.Temperature, req.Params.ParallelToolCalls, req.Params.Extra = p.Temperature, p.Parallel, p.Extra

	reply, err := client.Complete(t.Context(), req)

	require.EqualValues(t, max(c.Expect.Requests, 1), asked.Load(), "requests; error %v", err)
	require.Equal(t, c.Expect.Outcome, c.outcome(t, reply, err), "error %v, reply %.500v", err, reply)
	if err != nil {
		told, ok := errors.AsType[*llm.Error](err)
		require.True(t, ok, "%T", err)
		if len(c.Expect.Class) > 0 {
			require.Contains(t, c.Expect.Class, told.Class, "%v", err)
		}
		require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(c.Expect.ErrorContains))
		return
	}
	c.compare(t, reply)
	if c.Expect.Resend == nil && c.Expect.ResendNot == nil {
		return
	}
	req.Messages = append(req.Messages, reply.Message)
	for _, call := range reply.Message.ToolCalls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "Nice."})
	}
	if len(reply.Message.ToolCalls) == 0 {
		req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "And tomorrow?"})
	}
	_, _ = client.Complete(t.Context(), req)
	for _, part := range c.Expect.Resend {
		require.Contains(t, *last.Load(), part, "the next request")
	}
	for _, part := range c.Expect.ResendNot {
		require.NotContains(t, *last.Load(), part, "the next request")
	}
}

// outcome returns the outcome of a case. A reply does not show whether it was repaired.
func (c wireCase) outcome(t *testing.T, reply llm.Reply, err error) string {
	told, _ := errors.AsType[*llm.Error](err)
	want := c.Expect.Outcome
	switch {
	case told != nil && told.Class == llm.ContextTooLong:
		return "compact"
	case told != nil && told.Class.Retryable():
		return "retry"
	case err != nil:
		return "fail"
	case len(reply.Message.ToolCalls) > 0 && wireRefused(t, reply.Message.ToolCalls[0]):
		return "tool_error"
	case want == "proceed" || want == "repair":
		return want
	}
	return "a reply"
}

func (c wireCase) compare(t *testing.T, reply llm.Reply) {
	want := c.Expect
	if want.Outcome != "tool_error" {
		require.Len(t, reply.Message.ToolCalls, len(want.Calls), "%v", reply)
		for i, call := range want.Calls {
			require.Equal(t, call.Name, reply.Message.ToolCalls[i].Name)
			require.JSONEq(t, string(call.Arguments), reply.Message.ToolCalls[i].Arguments)
		}
	}
	if want.Content != nil {
		require.Equal(t, *want.Content, reply.Message.Content)
	}
	if want.Reasoning != "" {
		require.Equal(t, want.Reasoning, reply.Message.Reasoning)
	}
	if want.Finish != "" {
		require.Equal(t, want.Finish, reply.FinishReason)
	}
	got := map[string]int{
		"input": reply.Usage.InputTokens, "output": reply.Usage.OutputTokens, "cached": reply.Usage.CachedTokens,
		"written": reply.Usage.CacheWriteTokens, "reasoning": reply.Usage.ReasoningTokens,
	}
	for name, n := range want.Usage {
		require.Equal(t, n, got[name], "%s tokens", name)
	}
}

// wireTools are the tools that the cases use.
var wireTools = []llm.ToolSpec{
	wireTool("get_weather", `"city":{"type":"string"}`, "city"),
	wireTool("list_files", ""),
	wireTool("read_files", `"paths":{"type":"array","items":{"type":"string"}}`, "paths"),
	wireTool("shell", `"command":{"type":"string"}`, "command"),
	wireTool("write_file", `"path":{"type":"string"},"content":{"type":"string"}`, "path", "content"),
}

func wireTool(name, properties string, required ...string) llm.ToolSpec {
	list, _ := json.Marshal(append([]string{}, required...))
	return llm.ToolSpec{Name: name, Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","required":%s,"properties":{%s}}`, list, properties))}
}

// wireRefused reports whether the agent would refuse a call with an error result.
func wireRefused(t *testing.T, call llm.ToolCall) bool {
	at := slices.IndexFunc(wireTools, func(s llm.ToolSpec) bool { return s.Name == call.Name })
	if at < 0 {
		return true
	}
	var object map[string]any
	if json.Unmarshal([]byte(call.Arguments), &object) != nil || object == nil {
		return true
	}
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(wireTools[at].Parameters, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved.Validate(object) != nil
}
