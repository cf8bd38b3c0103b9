package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// These are the tools of the tool server.
const (
	// publishTool has an effect on the outside world. It is an at-most-once tool.
	publishTool = "publish"
	// measureTool changes nothing. It is a read-only tool and may run again.
	measureTool = "measure"
)

// toolServer is an MCP server with an at-most-once tool and a read-only tool. It counts the calls by their keys. A server that
// honours the keys would refuse a repeated key; toolServer runs the call, so that the counts show the repeat.
type toolServer struct {
	*listener
	root string
	// measuring is closed when measure is called for the first time. This call does not return before gone is closed, so that the
	// demo can kill the caller meanwhile.
	measuring, gone chan struct{}

	mu    sync.Mutex
	held  bool                      // the first call of measure has come
	calls map[string]map[string]int // tool → key → calls
	notes []string
}

func startToolServer(root string) (*toolServer, error) {
	d := &toolServer{root: root, measuring: make(chan struct{}), gone: make(chan struct{}), calls: map[string]map[string]int{publishTool: {}, measureTool: {}}}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{
		Name: publishTool, Description: "Publishes a note of one sentence, for everyone to read. It cannot be taken back.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
	}, d.publish)
	server.AddTool(&mcp.Tool{
		Name: measureTool, Description: "Counts the files and lines below the folder whose names end in a suffix such as .go. It takes a while.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"suffix":{"type":"string"}},"required":["suffix"],"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, d.measure)
	var err error
	d.listener, err = listen(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	return d, err
}

func (d *toolServer) publish(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return failure(err), nil
	}
	d.arrived(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, in.Text)
	return text(fmt.Sprintf("Published as note %d.", len(d.notes))), nil
}

func (d *toolServer) measure(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Suffix string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return failure(err), nil
	}
	if first := d.arrived(r); first {
		close(d.measuring)
		select {
		case <-d.gone:
		case <-ctx.Done():
		}
		return failure(errors.New("nobody waits for this any more")), nil
	}
	size, err := sizeOf(ctx, d.root, in.Suffix)
	if err != nil {
		return failure(err), nil
	}
	return text(size.String()), nil
}

// arrived counts a call, and reports whether it is the first call of measure, which must wait for gone.
func (d *toolServer) arrived(r *mcp.CallToolRequest) (hold bool) {
	key, _ := r.Params.Meta["reagent.dev/key"].(string)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[r.Params.Name][key]++
	hold = r.Params.Name == measureTool && !d.held
	d.held = d.held || hold
	return hold
}

// ToolCount holds the tool server's counts for one tool.
type ToolCount struct {
	Calls int `json:"calls"`
	Keys  int `json:"keys"`
	// Again is the number of calls with a key that an earlier call had.
	Again int `json:"again"`
}

func (d *toolServer) count(tool string) ToolCount {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := ToolCount{Keys: len(d.calls[tool])}
	for _, times := range d.calls[tool] {
		n.Calls += times
		n.Again += times - 1
	}
	return n
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func failure(err error) *mcp.CallToolResult {
	r := text(err.Error())
	r.IsError = true
	return r
}
