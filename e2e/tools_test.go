package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is an MCP server over streamable HTTP that counts what was done.
type toolServer struct {
	*mcp.Server
	URL string

	mu   sync.Mutex
	seen []effect
}

// effect is one call as it arrived.
type effect struct {
	Key, CallID, Tool, Arguments string
}

type toolFunc func(ctx context.Context, e effect) (string, error)

func newToolServer(t testing.TB) *toolServer {
	s := &toolServer{Server: mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, nil)
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	s.URL = listener.URL
	return s
}

var anything = json.RawMessage(`{"type":"object"}`)

// add offers a tool; hints set its effect.
func (s *toolServer) add(name string, hints *mcp.ToolAnnotations, do toolFunc) {
	s.addSpec(&mcp.Tool{Name: name, InputSchema: anything, Annotations: hints}, do)
}

func (s *toolServer) addSpec(spec *mcp.Tool, do toolFunc) {
	s.AddTool(spec, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		key, _ := r.Params.Meta["reagent.dev/key"].(string)
		callID, _ := r.Params.Meta["reagent.dev/call_id"].(string)
		e := effect{Key: key, CallID: callID, Tool: spec.Name, Arguments: string(r.Params.Arguments)}
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

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// effects counts how often each key arrived.
func (s *toolServer) effects() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, e := range s.seen {
		counts[e.Key]++
	}
	return counts
}

// echo answers with the arguments.
func echo(_ context.Context, e effect) (string, error) { return "did " + e.Arguments, nil }
