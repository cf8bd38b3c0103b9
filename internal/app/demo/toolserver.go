package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// publishTool is the name of a tool whose calls change the outside world. Such a call must not run twice.
	publishTool = "publish"
	// measureTool is the name of a tool whose calls only read. Such a call may run again.
	measureTool = "measure"
)

// toolServer is an MCP server with the tools "publish" and "measure". It counts the calls by their idempotency keys. A real server
// should refuse a call with the key of an earlier call. This server runs it, so that the counts show every repeated call.
type toolServer struct {
	url                 string
	published, measured counter
}

// The first call of the tool "measure" blocks until the context ends, so that the demo can kill the worker during this call.
func startToolServer(ctx context.Context, folder string) (*toolServer, error) {
	t := &toolServer{}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: publishTool, Description: "Publishes a note of one sentence, for everyone to read. It cannot be taken back.",
	}, func(_ context.Context, r *mcp.CallToolRequest, _ struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return text("Published as note %d.", t.published.add(keyOf(r))), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: measureTool, Description: "Counts the files and folders in the folder. It takes a while.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if t.measured.add(keyOf(r)) == 1 {
			<-ctx.Done()
		}
		entries, err := os.ReadDir(folder)
		return text("Files and folders here: %d.", len(entries)), nil, err // the model reads the error
	})
	var err error
	t.url, err = serve(ctx, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	return t, err
}

func keyOf(r *mcp.CallToolRequest) string {
	key, _ := r.Params.Meta["reagent.dev/key"].(string)
	return key
}

func text(format string, n int) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, n)}}}
}
