package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// Agents use the tools of an MCP server through a registry.
func ExampleConnect() {
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			Name string `json:"name"`
		},
		) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
		})
	far := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer far.Close()

	ctx := context.Background()
	source, err := mcp.Connect(ctx, mcp.Server{Name: "greeter", URL: far.URL, Prefix: "say_"})
	if err != nil {
		panic(err)
	}
	defer source.Close()
	var tools tool.Registry
	if err := tools.AddSource("greeter", source); err != nil {
		panic(err)
	}

	bound, err := tools.Resolve(ctx, []string{"greeter.*"})
	if err != nil {
		panic(err)
	}
	spec := bound[0].Tool.Spec()
	fmt.Println(bound[0].Ref, "is", spec.Name, "to the model, and", spec.Effect)
	result, err := tool.Run(ctx, bound[0].Tool, `{"name":"Ada"}`)
	fmt.Println(result.Content, err)
	// Output:
	// greeter.greet is say_greet to the model, and read-only
	// Hello, Ada <nil>
}
