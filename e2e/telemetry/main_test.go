// Package telemetry_test tests what worker and starter export, with a collector and a parser of metrics that others wrote, and what they log.
package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// toolServer is the name of an environment variable. If it is set, this test binary runs as an MCP server on its standard streams.
const toolServer = "REAGENT_TEST_TALKING_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(toolServer) != "" {
		serveTools()
		return
	}
	os.Exit(world.Main(m))
}

// serveTools serves two tools that write their arguments to stderr. The tool fail returns an error, and lose ends the process.
func serveTools() {
	server := mcp.NewServer(&mcp.Implementation{Name: "near", Version: "1"}, nil)
	add := func(name string, do func() *mcp.CallToolResult) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: world.AnyObject}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			fmt.Fprintln(os.Stderr, "called with", string(r.Params.Arguments))
			return do(), nil
		})
	}
	add("fail", func() *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no plum-of-the-error"}}}
	})
	add("lose", func() *mcp.CallToolResult { os.Exit(3); return nil })
	_ = server.Run(context.Background(), &mcp.StdioTransport{}) // ends when stdin is closed
}
