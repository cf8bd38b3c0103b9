package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/jsonwords"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/internal/traceparent"
	"github.com/reagent-dev/reagent/tool"
)

// These are the names of the fields that this package adds to the object `_meta` of the MCP request `tools/call`.
const (
	metaKey      = "reagent.dev/key"      // the [tool.Info.Key] of the call, by which a server can recognise a repeated call
	metaCallID   = "reagent.dev/call_id"  // the ID that the model gave to the call
	metaMetadata = "reagent.dev/metadata" // the [tool.Info.Metadata], an object; left out if there is none
)

const (
	// maxPages, maxTools and maxListBytes limit a server's list of tools, because a broken server could send an endless one.
	maxPages     = 1000
	maxTools     = 2000
	maxListBytes = 16 << 20
)

// session is one connection to an MCP server. A session that has ended cannot be used again. The [Source] then opens a new one.
type session struct {
	client  *sdk.ClientSession
	conn    *conn
	process *process        // nil for a server with a URL
	base    *http.Transport // nil for a server with a command
	ended   context.Context // done when the connection is lost or closed
	end     context.CancelFunc

	// watched has a function for each call in flight that people watch, by progress token: see [tool.Info.Progress]. tokens is the
	// number of tokens so far.
	watched sync.Map // string to func(text string)
	tokens  atomic.Int64
}

// If openSession returns an error, it has already stopped the command of a local server.
func openSession(ctx context.Context, s Server, censor *redact.Redactor, log func(line string)) (*session, error) {
	sess := new(session)
	client := sdk.NewClient(&sdk.Implementation{Name: "reagent", Version: "1"}, &sdk.ClientOptions{
		Logger: s.Logger,
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		// Without this, the SDK would call the tool again if a server asked for input.
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			sess.showProgress(req.Params)
		},
	})
	client.AddSendingMiddleware(withoutCapabilities)
	stdio := &stdioTransport{server: s, log: log}
	rec := &recorder{inner: stdio}
	if s.URL != "" {
		transport, rt := newHTTPTransport(s, censor)
		rec, sess.base = &recorder{inner: transport, negotiated: rt.negotiated}, rt.base
	}
	cs, err := client.Connect(ctx, rec, &sdk.ClientSessionOptions{ProtocolVersion: s.Protocol})
	sess.client, sess.conn, sess.process = cs, rec.conn, stdio.process
	sess.ended, sess.end = context.WithCancel(context.Background())
	if err != nil {
		sess.close()
		return nil, sess.process.explain(err)
	}
	go func() {
		_ = cs.Wait()
		sess.end()
	}()
	return sess, nil
}

// withoutCapabilities removes all capabilities from the request "initialize". Only servers of earlier protocol versions get this
// request, and they would ask during a tool call: see [elicit].
func withoutCapabilities(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if params, ok := req.GetParams().(*sdk.InitializeParams); ok {
			params.Capabilities = &sdk.ClientCapabilities{}
		}
		return next(ctx, method, req)
	}
}

func (s *session) close() {
	s.end()
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.base != nil {
		s.base.CloseIdleConnections()
	}
	if s.process != nil {
		s.process.stop()
		<-s.process.exited
	}
}

// leave closes a session that new calls no longer use. For a local server, leave ends the calls in flight and waits until the
// server has exited. For a remote server, the calls in flight may still get their responses, because each call is a separate
// HTTP request.
func (s *session) leave() {
	if s.process != nil {
		s.close()
		return
	}
	_ = s.client.Close()
	s.base.CloseIdleConnections()
}

func (s *session) alive() bool { return s.ended.Err() == nil }

// follow sends one request to the server and records what happens to the request. The function `request` must send the request
// with the context that it gets. This context ends when `ctx` ends or when the session ends. follow returns what was recorded,
// and the error of the function; see [delivery].
func (s *session) follow(ctx context.Context, request func(context.Context) error) (deliveryState, error) {
	d := new(delivery)
	ctx, cancel := context.WithCancel(withDelivery(ctx, d))
	defer cancel()
	// The SDK waits for an HTTP response until the call's context ends, even after the session has ended.
	defer context.AfterFunc(s.ended, cancel)()
	err := request(ctx)
	s.conn.forget(d)
	return d.state(), err
}

// The returned state contains the response, or shows whether the call was sent. The error is that of the SDK.
func (s *session) call(ctx context.Context, params sdk.CallToolParams) (deliveryState, error) {
	if info := tool.InfoFrom(ctx); info.Key != "" {
		params.Meta = sdk.Meta{metaKey: info.Key, metaCallID: info.CallID}
		if len(info.Metadata) > 0 {
			params.Meta[metaMetadata] = info.Metadata
		}
	}
	if parent := traceparent.In(ctx); parent != "" {
		if params.Meta == nil {
			params.Meta = sdk.Meta{}
		}
		params.Meta[traceparent.Name] = parent // as in OpenTelemetry's conventions for MCP
	}
	if show := tool.InfoFrom(ctx).Progress; show != nil {
		token := fmt.Sprint(s.tokens.Add(1))
		s.watched.Store(token, show)
		defer s.watched.Delete(token)
		params.SetProgressToken(token) // without a token, the server sends no progress
	}
	return s.follow(ctx, func(ctx context.Context) error {
		_, err := s.client.CallTool(ctx, &params)
		return err
	})
}

// showProgress shows a progress notification of the server to the people who watch the call: see [tool.Info.Progress]. It ignores
// a notification whose token belongs to no call in flight.
func (s *session) showProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string) // any JSON value is possible
	if show, ok := s.watched.Load(token); ok {
		show.(func(string))(progressText(p))
	}
}

// progressText returns a line such as "3 of 10: reading notes.md".
func progressText(p *sdk.ProgressNotificationParams) string {
	text := strconv.FormatFloat(p.Progress, 'f', -1, 64)
	if p.Total != 0 {
		text += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	return text + "\n"
}

type listed struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnlyHint    bool  `json:"readOnlyHint"`
		IdempotentHint  bool  `json:"idempotentHint"`
		DestructiveHint *bool `json:"destructiveHint"` // nil means true
	} `json:"annotations"`
}

// list returns an error if a page cannot be read, if the list is too long, or if a page refers to itself as the next page.
func (s *session) list(ctx context.Context) ([]listed, error) {
	var all []listed
	cursor, bytes := "", 0
	for range maxPages {
		page, next, err := s.page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		for _, t := range page {
			bytes += len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema)
		}
		if len(all) > maxTools || bytes > maxListBytes {
			return nil, fmt.Errorf("the list of tools is too long: it has more than %d tools or %d MiB; configure the server to offer fewer tools", maxTools, maxListBytes>>20)
		}
		if next == "" {
			return all, nil
		}
		if next == cursor {
			return nil, errors.New("the list of tools has no end, because a page names itself as the next page; use a version of the server without this mistake")
		}
		cursor = next
	}
	return nil, fmt.Errorf("the list of tools has more than %d pages; configure the server to offer fewer tools", maxPages)
}

// A cursor of "" means the first page; a `next` of "" means that there is no further one.
func (s *session) page(ctx context.Context, cursor string) (tools []listed, next string, err error) {
	var res *sdk.ListToolsResult
	d, err := s.follow(ctx, func(ctx context.Context) (err error) {
		res, err = s.client.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	raw := d.answer
	if raw == nil { // the SDK took the page from its cache
		if raw, err = json.Marshal(res); err != nil {
			return nil, "", err
		}
	}
	var page struct {
		Tools []listed `json:"tools"`
	}
	if err := exact.Decode(raw, &page, exact.Foreign); err != nil {
		return nil, "", fmt.Errorf("the list of tools cannot be read: %s; use a version of the server without this mistake", jsonwords.Problem(err))
	}
	// The SDK leaves tools with invalid x-mcp-header annotations out of res.Tools.
	allowed := map[string]bool{}
	for _, t := range res.Tools {
		allowed[t.Name] = true
	}
	for _, t := range page.Tools {
		if allowed[t.Name] {
			tools = append(tools, t)
		}
	}
	return tools, res.NextCursor, nil
}
