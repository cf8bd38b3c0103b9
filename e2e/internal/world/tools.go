package world

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ToolServer is an MCP server over streamable HTTP that counts the tool calls it gets.
type ToolServer struct {
	*mcp.Server
	// URL is the address of the server, for the configuration of a worker.
	URL string

	mu   sync.Mutex
	seen []Effect
}

// Effect is one tool call that has arrived at a [ToolServer].
type Effect struct {
	Key, CallID, Tool, Arguments string
	// Traceparent is the position of the call in a trace; empty if the worker makes no spans.
	Traceparent string
}

// ToolFunc executes a tool call and returns the text of its result. An error becomes an error result.
type ToolFunc func(ctx context.Context, e Effect) (string, error)

// NewToolServer starts a server without tools, and stops it at the end of the test.
func NewToolServer(t testing.TB) *ToolServer {
	s := &ToolServer{Server: mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, nil)
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	s.URL = listener.URL
	return s
}

// AnyObject is a JSON schema that allows any arguments.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// Add adds a tool that accepts any arguments. The function do executes its calls. The hints say whether a call may run again: see
// [ReadOnly]. If hints is nil, the tool is at-most-once.
func (s *ToolServer) Add(name string, hints *mcp.ToolAnnotations, do ToolFunc) {
	s.AddSpec(&mcp.Tool{Name: name, InputSchema: AnyObject, Annotations: hints}, do)
}

// AddSpec adds a tool with the given specification. The function do executes its calls.
func (s *ToolServer) AddSpec(spec *mcp.Tool, do ToolFunc) {
	s.AddTool(spec, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		key, _ := r.Params.Meta["reagent.dev/key"].(string)
		callID, _ := r.Params.Meta["reagent.dev/call_id"].(string)
		parent, _ := r.Params.Meta["traceparent"].(string)
		e := Effect{Key: key, CallID: callID, Tool: spec.Name, Arguments: string(r.Params.Arguments), Traceparent: parent}
		s.mu.Lock()
		s.seen = append(s.seen, e)
		s.mu.Unlock()
		text, err := do(ctx, e)
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil //nolint:nilerr // a tool's failure is a result
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
}

// ReadOnly are hints for [ToolServer.Add]. They say that a tool only reads, so its calls may run again.
var ReadOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// Effects returns, for each idempotency key, how many tool calls with this key have arrived.
func (s *ToolServer) Effects() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, e := range s.seen {
		counts[e.Key]++
	}
	return counts
}

// Echo is a [ToolFunc]. Its result is the word "did" and the arguments of the call.
func Echo(_ context.Context, e Effect) (string, error) { return "did " + e.Arguments, nil }
