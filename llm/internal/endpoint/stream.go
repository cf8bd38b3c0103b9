package endpoint

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Reply is a reply in the form of an API, as far as it has arrived.
type Reply interface {
	// Whole reads a response that is not streamed and contains no error.
	Whole(a Response) error

	// Take adds an event of a stream, which is not [DONE]. `a` has the status and the headers of the response. An error ends the stream,
	// except the one of [Response.Unread]. Take returns [ErrTooLarge] if the reply is too large, and [io.EOF] after the last event.
	Take(a Response, e Event) error
	// Ended handles the end of the stream. It returns an error if the reply is not complete. `marked` says that the stream ended with the
	// event [DONE]. The end of a stream alone does not mean that the reply is complete, because a connection can break anywhere.
	Ended(marked bool) error
	// Rest returns how long to read the rest of the stream after the reply is complete; 0 if it is not complete yet. Errors in the rest do
	// not matter.
	Rest() time.Duration
	// Spoke reports whether a part of the reply has arrived.
	Spoke() bool
}

// Source has the events of a stream, such as [Events]. It is not safe for concurrent use.
type Source interface {
	// Next returns the next event, whose data is valid until Next is called again. The errors are those of [Events.Next].
	Next() (Event, error)
}

// ignored is the error for an event which counts only if the reply does not become complete.
type ignored struct{ error }

// Unread returns the error for an event that cannot be decoded. `cause` is the error of the decoder. If the event begins with none of the
// characters in `begins`, it is no event of the API, and [Reply.Take] may go on to the next one.
func (a Response) Unread(e Event, cause error, begins string) error {
	unread := &llm.Error{Class: llm.BadReply, Status: a.Status, Err: cause,
		Message: "an event of the stream cannot be read: " + string(e.Data)}
	if strings.IndexByte(begins, e.Data[0]) >= 0 {
		return unread
	}
	return ignored{unread}
}

// readStream reads the events of `stream` into `reply`. When the reply is complete, readStream ignores errors in the rest of the stream.
// `stream` reads from `quiet`, whose time limits readStream sets.
func readStream(a Response, stream Source, quiet *Silence, idle time.Duration, reply Reply) error {
	var unread error // the error for the first event that was ignored
	for {
		e, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && e.Done():
			if unread != nil {
				err = unread
			} else if err = reply.Ended(err == nil); err == nil {
				return nil
			}
		case err == nil:
			err = reply.Take(a, e)
			if skip, ok := errors.AsType[ignored](err); ok {
				unread, err = cmp.Or(unread, skip.error), nil
			}
		case !errors.Is(err, ErrTooLarge):
			err = LostError{Err: err}
		}
		rest := reply.Rest()
		switch {
		case err != nil && rest > 0:
			return nil
		case errors.Is(err, ErrTooLarge):
			return a.TooLarge()
		case err != nil:
			return err
		case rest > 0:
			quiet.Closing(rest)
		case reply.Spoke():
			// There is no such limit earlier, because a model may need a long time before its first text.
			quiet.Reopen()
			quiet.LimitTo(idle)
		}
	}
}
