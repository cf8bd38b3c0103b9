package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reagent-dev/reagent/tool"
)

// remote is one tool of a server.
type remote struct {
	source *Source
	name   string // at the server
	spec   tool.Spec
}

var _ tool.Local = (*remote)(nil)

func (t *remote) Spec() tool.Spec { return t.spec }

// LocalName is the server's name for the tool.
func (t *remote) LocalName() string { return t.name }

// Call calls the tool at the server. A call that found its connection gone, and
// so did not reach the server, is sent over a new one, once.
func (t *remote) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	s, limited := t.source, ctx
	if s.server.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.server.Timeout)
		defer cancel()
	}
	for attempt := 1; ; attempt++ {
		sess, err := s.connected(limited)
		if err != nil {
			return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, err))
		}
		d, err := sess.call(limited, t.name, args)
		switch d.fate() {
		case answered:
			return s.result(t.name, d), nil
		case unknown:
			return tool.Result{}, s.errorf("%s: %w: %w", t.name, tool.ErrOutcomeUnknown, s.cause(ctx, err))
		case refused:
			// The next attempt gets a new session, in case that is what was wrong.
			s.drop(sess)
			return tool.Result{}, s.errorf("%s did not run: HTTP %d %s", t.name, d.status, http.StatusText(d.status))
		case unreached:
			if limited.Err() != nil || attempt == 2 {
				return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, err))
			}
			s.drop(sess)
		}
	}
}

// fate is the outcome of a call.
type fate int

const (
	unknown   fate = iota // it may have run
	answered              // it was answered, with a result or an error
	unreached             // it did not reach the server, or a session that is gone: it did not run
	refused               // the server turned it away: it did not run
)

func (d deliveryState) fate() fate {
	switch {
	case d.answer != nil || d.tooLarge:
		return answered
	case d.sessionGone():
		return unreached
	case d.failure != nil && !d.turnedAway():
		return answered
	case !d.sent:
		return unreached
	case 300 <= d.status && d.status < 500:
		return refused
	}
	return unknown
}

// sessionGone: 404 in a session means that the session is gone. Servers on the
// TypeScript SDK's examples say 400 with a code of their own.
func (d deliveryState) sessionGone() bool {
	if !d.inSession {
		return false
	}
	return d.status == http.StatusNotFound ||
		d.status == http.StatusBadRequest && d.failure != nil && d.failure.Code == -32000
}

func (d deliveryState) turnedAway() bool {
	switch d.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	return false
}

// result makes a result of an answer.
func (s *Source) result(name string, d deliveryState) tool.Result {
	var res tool.Result
	switch {
	case d.answer != nil:
		res = render(d.answer)
	case d.tooLarge:
		res = tool.Result{Content: fmt.Sprintf("%s ran, but its answer is longer than %d bytes and was not read", name, maxMessage), IsError: true}
	default:
		res = tool.Result{Content: describeFailure(name, d.failure), IsError: true}
	}
	if res.IsError { // a server may repeat the token that it did not like
		res.Content = s.censor.Text(res.Content)
	}
	return res
}

func describeFailure(name string, failure *jsonrpc.Error) string {
	return fmt.Sprintf("%s failed: %s (code %d)", name, failure.Message, failure.Code)
}

// cause makes an error that may be shown of one of the SDK's, whose text may
// hold the URL. Of the original only the end of the caller's context is kept.
func (s *Source) cause(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errClosed), s.life.Err() != nil:
		return errClosed
	case errors.Is(err, context.DeadlineExceeded) && s.server.Timeout > 0:
		return fmt.Errorf("no answer within %v", s.server.Timeout)
	}
	return errors.New(s.reason(err))
}

// reason is the text of an error without what may be secret.
func (s *Source) reason(err error) string {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return tool.Clip(s.censor.Text(err.Error()), 1500)
}
