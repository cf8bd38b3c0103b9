package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/reagent-dev/reagent/tool"
)

// effectsFile is the name of an environment variable. If it is set, this test binary runs as an MCP server over stdio. The value
// is the path of the file in which the server records the calls.
const effectsFile = "MCP_TEST_EFFECTS"

func TestMain(m *testing.M) {
	if path := os.Getenv(effectsFile); path != "" {
		serve(path)
		return
	}
	goleak.VerifyTestMain(m,
		// The test server keeps a session open if its client did not end it.
		goleak.IgnoreTopFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// serve runs the MCP server over stdio. It records its calls in the file at a path, which is the value of [effectsFile].
func serve(path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "server says hello to "+os.Getenv("API_TOKEN"))
	fmt.Fprintf(f, "start %d\n", os.Getpid())
	if os.Getenv("WITH_CHILD") != "" { // like npx
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(f, "child %d\n", child.Process.Pid)
	}
	if os.Getenv("WITH_DAEMON") != "" { // leaves the process group
		daemon := exec.Command("sleep", "1000")
		daemon.SysProcAttr = ownSession()
		if err := daemon.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(f, "daemon %d\n", daemon.Process.Pid)
	}
	server := newServer(func(effect string) { fmt.Fprintln(f, effect) }, nil)
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if os.Getenv("STUBBORN") != "" { // does not exit after its stdin was closed
		select {}
	}
}

const secret = "sk-very-secret"

// newServer returns an MCP server of the SDK. Each call of a tool calls the given function (record) with the tool's name and the
// call's key. The tool "block" returns when the given channel (release) is closed.
func newServer(record func(effect string), release <-chan struct{}) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{PageSize: 3})
	add := func(t *sdk.Tool, call func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		server.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			record(fmt.Sprintf("%s %v", t.Name, req.Params.Meta["reagent.dev/key"]))
			return call(ctx, req)
		})
	}
	text := func(s string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil
	}

	add(&sdk.Tool{Name: "create", Description: "Creates.", InputSchema: json.RawMessage(createSchema)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text(string(req.Params.Arguments))
		})
	add(&sdk.Tool{Name: "look", Title: "Looks.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("seen") })
	add(&sdk.Tool{Name: "put", Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false)}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("put") })
	add(&sdk.Tool{Name: "user.get"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("got") })
	add(&sdk.Tool{Name: "environ"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text(strings.Join(os.Environ(), "\n"))
		})
	add(&sdk.Tool{Name: "block"},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if token := req.Params.GetProgressToken(); token != nil {
				record("token")
				for _, p := range []sdk.ProgressNotificationParams{
					{ProgressToken: map[string]any{}, Message: "of no call"}, {ProgressToken: "none", Message: "of no call"},
					{ProgressToken: token, Progress: 1.5}, {ProgressToken: token, Progress: 2, Total: 3e6, Message: "reads"},
				} {
					if err := req.Session.NotifyProgress(ctx, &p); err != nil {
						return nil, err
					}
				}
			}
			select {
			case <-release:
				return text("released")
			case <-ctx.Done():
				time.Sleep(time.Second) // a caller that has cancelled the call must not wait for this
				return nil, ctx.Err()
			}
		})
	add(&sdk.Tool{Name: "fail", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(true)}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "token " + os.Getenv("API_TOKEN") + " is no good"}}}, nil
		})
	add(&sdk.Tool{Name: "protocol_error"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New("the database is on fire")
		})
	add(&sdk.Tool{Name: "structured"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: json.RawMessage(`{"id":9007199254740993}`)}, nil
		})
	add(&sdk.Tool{Name: "picture"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: "here:"},
				&sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 12345)},
				&sdk.AudioContent{MIMEType: "audio/wav", Data: make([]byte, 10)},
				&sdk.ResourceLink{Name: "log", URI: "file:///log"},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "text of a"}},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", MIMEType: "application/zip", Blob: make([]byte, 7)}},
			}}, nil
		})
	add(&sdk.Tool{Name: "ask"}, ask)
	add(&sdk.Tool{Name: "offered"},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			offered, err := json.Marshal(req.Session.InitializeParams().Capabilities)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(offered)}}}, err
		})
	add(&sdk.Tool{Name: "huge"},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text(strings.Repeat("x", 17<<20))
		})
	return server
}

// ask is a tool that returns its arguments as requests for input. Called again, it returns the responses and the state.
func ask(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		got, err := json.Marshal(req.Params.InputResponses)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Params.RequestState + string(got)}}}, err
	}
	requests := sdk.InputRequestMap{}
	if err := json.Unmarshal(req.Params.Arguments, &requests); err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{InputRequests: requests, RequestState: "the state "}, nil
}

const createSchema = `{ "type":"object", "properties": {"z": {"type":"integer","default":9007199254740993}, "a": {}} }`

func find(t *testing.T, source tool.Source, local string) tool.Tool {
	t.Helper()
	tools, err := source.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.(tool.Local).LocalName() == local {
			return tl
		}
	}
	t.Fatalf("no tool %q", local)
	return nil
}

type called struct {
	res tool.Result
	err error
}

func start(ctx context.Context, tl tool.Tool, args string) <-chan called {
	done := make(chan called, 1)
	go func() {
		res, err := tool.Run(ctx, tl, args)
		done <- called{res, err}
	}()
	return done
}

// patience is how long a test waits for a condition.
const patience = 20 * time.Second
