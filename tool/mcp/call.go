package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/tool"
)

type remote struct {
	source *Source
	name   string // the tool's name at the server
	spec   tool.Spec
}

var _ tool.Local = (*remote)(nil)

// Spec returns the server's description of the tool, under the name that the model sees.
func (t *remote) Spec() tool.Spec { return t.spec }

// LocalName returns the name that the MCP server uses for the tool.
func (t *remote) LocalName() string { return t.name }

// Call calls the tool at the MCP server. If the connection or the MCP session was lost before the call reached the server, Call connects
// again and sends the call a second time. Call never repeats a call that may have run. An error that wraps [tool.ErrOutcomeUnknown] means
// that the tool may have run. Any other error means that the tool did not run.
//
// If a person's answer to the tool's question does not fit, Call does not call the server. The result then has the question again.
func (t *remote) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	s, limited := t.source, ctx
	params := sdk.CallToolParams{Name: t.name, Arguments: args}
	if again := addAnswer(ctx, &params); again != nil {
		return tool.Result{Question: again}, nil
	}
	if s.server.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.server.Timeout)
		defer cancel()
	}
	limited, err := s.asCaller(limited)
	if err != nil {
		return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, ctx, err))
	}
	for attempt := 1; ; attempt++ {
		sess, done, err := s.sessionFor(limited)
		if err != nil {
			return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, limited, callerFrom(limited).refusal(err)))
		}
		d, err := sess.call(limited, params)
		done()
		switch d.fate() {
		case withoutCredential:
			return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, limited, d.credential))
		case answered:
			return s.result(t.name, d), nil
		case unknown:
			return tool.Result{}, s.errorf("%s: %w: %w", t.name, tool.ErrOutcomeUnknown, s.cause(ctx, limited, s.ended(err, "during the call")))
		case refused:
			// The session may be the reason for the refusal, so the next call gets a new session.
			s.drop(sess)
			if problem := callerFrom(limited).refusal(nil); problem != nil {
				return tool.Result{}, s.errorf("%s did not run: %w", t.name, problem)
			}
			return tool.Result{}, s.errorf("%s did not run: HTTP %d %s", t.name, d.status, http.StatusText(d.status))
		case unreached:
			if limited.Err() != nil || attempt == 2 {
				return tool.Result{}, s.errorf("%s did not run: %w", t.name, s.cause(ctx, limited, s.ended(err, "before it got the call")))
			}
			s.drop(sess)
		}
	}
}

// addAnswer adds the answer of a person to the last question of the tool, as the server wants it. It adds nothing if there is no answer, or
// if another version of this package asked the question. If the answer does not fit, addAnswer returns the question to ask again.
func addAnswer(ctx context.Context, params *sdk.CallToolParams) (again *tool.Question) {
	answer := tool.InfoFrom(ctx).Answer
	var a asked
	if answer == nil || json.Unmarshal([]byte(answer.State), &a) != nil { // the state may be that of another version of this package
		return nil
	}
	response, problem := a.response(*answer)
	if problem != "" {
		return a.question(problem)
	}
	params.InputResponses, params.RequestState = sdk.InputResponseMap{a.ID: response}, a.RequestState
	return nil
}

type fate int

const (
	unknown           fate = iota // the tool may have run
	answered                      // the server answered with a result or an error
	unreached                     // the tool did not run: the call did not reach the server, or the session does not exist any more
	refused                       // the tool did not run: the server refused the request
	withoutCredential             // the tool did not run: the source of the credential failed
)

func (d deliveryState) fate() fate {
	switch {
	case d.answer != nil || d.tooLarge:
		return answered
	case d.credential != nil:
		return withoutCredential
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

// Without the session, the server cannot have run the tool. A new session is necessary.
func (d deliveryState) sessionGone() bool {
	// The MCP specification requires the status 404. Servers that are based on the examples of the TypeScript SDK send 400 with
	// the error code -32000.
	return d.inSession && (d.status == http.StatusNotFound ||
		d.status == http.StatusBadRequest && d.failure != nil && d.failure.Code == -32000)
}

// With these statuses, the server refused the request before the tool could run.
func (d deliveryState) turnedAway() bool {
	return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, d.status)
}

// `name` is the tool's name at the server; error texts contain this name.
func (s *Source) result(name string, d deliveryState) tool.Result {
	var res tool.Result
	switch {
	case d.answer != nil:
		res = render(d.answer)
	case d.tooLarge:
		res = tool.Result{Content: fmt.Sprintf("%s ran, but its answer is longer than %d bytes and was not read", name, maxMessage), IsError: true}
	default:
		res = tool.Result{Content: fmt.Sprintf("%s failed: %s (code %d)", name, d.failure.Message, d.failure.Code), IsError: true}
	}
	if res.IsError { // the text may contain a token that the server did not accept
		res.Content = s.censor.Text(res.Content)
	}
	return res
}

// cause converts an error of the MCP SDK into an error without secrets. Except for the error of `ctx`, the new error does not wrap the old
// one, because the text of the old error may contain the URL and its secrets.
//
// `ctx` is the context of the caller of [remote.Call]. `limited` is the same context with the time limit of one call. The first case that
// applies counts:
//   - `ctx` has ended: cause returns the error of `ctx`.
//   - The Source was closed: cause returns [errClosed].
//   - `limited` has ended: the new error says that there was no answer in time.
//   - A [*tool.TokenError] stays as it is, because it has no secret.
//   - In all other cases, the new error has the text of the old one, shortened and without secrets.
func (s *Source) cause(ctx, limited context.Context, err error) error {
	noToken, final := errors.AsType[*tool.TokenError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case final:
		return noToken
	case errors.Is(err, errClosed), s.life.Err() != nil:
		return errClosed
	case limited.Err() != nil:
		return fmt.Errorf("no answer within %v", s.server.Timeout)
	}
	return errors.New(s.reason(err))
}

// ended puts the error of a call into plain words if it says that the connection has ended (see [session.follow]). It returns other errors
// unchanged.
func (s *Source) ended(err error, when string) error {
	switch {
	case !errors.Is(err, context.Canceled) && !errors.Is(err, sdk.ErrConnectionClosed) && !errors.Is(err, io.EOF):
		return err
	case s.server.URL == "":
		return errors.New("the server ended " + when)
	}
	return errors.New("the connection to the server ended " + when)
}

func (s *Source) reason(err error) string {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return clip.Middle(s.censor.Text(err.Error()), 1500)
}
