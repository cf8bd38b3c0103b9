// Command notes is an MCP server over stdin and stdout that keeps notes in a file.
package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Note has the arguments of the tool named "add".
type Note struct {
	Text string `json:"text" jsonschema:"one line"`
}

func main() {
	file := os.Getenv("NOTES_FILE")
	if file == "" {
		log.Fatal("the environment variable NOTES_FILE is not set: set it to the path of the file for the notes")
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: "read", Description: "All notes, one a line.",
		// With this hint, a call runs again if the worker crashed during it.
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		data, err := os.ReadFile(file) //nolint:gosec // named by whoever configures the server
		if errors.Is(err, fs.ErrNotExist) {
			return say("There are no notes yet."), nil, nil
		}
		return say(string(data)), nil, err
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "add", Description: "Adds a note.",
		// Without a hint, a call never runs twice.
	}, func(_ context.Context, _ *mcp.CallToolRequest, in Note) (*mcp.CallToolResult, any, error) {
		if err := add(file, in.Text); err != nil {
			return nil, nil, err // the model reads the error
		}
		return say("Noted."), nil, nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err) // the worker logs standard error
	}
}

func add(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // named by whoever configures the server
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n")
	return errors.Join(err, f.Close())
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
