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

// ToolServer is an MCP server over streamable HTTP that counts what was done.
type ToolServer struct {
	*mcp.Server
	// URL is the address for a configuration.
	URL string

	mu   sync.Mutex
	seen []Effect
}

// Effect is one call as it arrived.
type Effect struct {
	Key, CallID, Tool, Arguments string
}

// ToolFunc does what a tool does, and returns its result.
type ToolFunc func(ctx context.Context, e Effect) (string, error)

// NewToolServer starts a server without tools. The end of the test stops it.
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

// AnyObject is a schema that admits any arguments.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// Add offers a tool; hints set its effect.
func (s *ToolServer) Add(name string, hints *mcp.ToolAnnotations, do ToolFunc) {
	s.AddSpec(&mcp.Tool{Name: name, InputSchema: AnyObject, Annotations: hints}, do)
}

// AddSpec offers a tool with a specification of its own.
func (s *ToolServer) AddSpec(spec *mcp.Tool, do ToolFunc) {
	s.AddTool(spec, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		key, _ := r.Params.Meta["reagent.dev/key"].(string)
		callID, _ := r.Params.Meta["reagent.dev/call_id"].(string)
		e := Effect{Key: key, CallID: callID, Tool: spec.Name, Arguments: string(r.Params.Arguments)}
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

// ReadOnly are the hints of a tool that only reads.
var ReadOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// Effects counts how often each key arrived.
func (s *ToolServer) Effects() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, e := range s.seen {
		counts[e.Key]++
	}
	return counts
}

// Echo is a tool that answers with its arguments.
func Echo(_ context.Context, e Effect) (string, error) { return "did " + e.Arguments, nil }
