package openai

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// This file converts a stream into one completion. The stream reader of go-openai is not used: it does not distinguish a stream that was
// cut from one that ended, fails after a few hundred keep-alive comments in a row, and ignores errors in most formats.

// afterText is how long the client reads a stream after a finish reason that came together with text. Some endpoints send a finish
// reason with each part of the text, so more text may follow.
const afterText = 30 * time.Second

// readStream reads an event stream from `in` and returns the reply. When the reply is complete, readStream ignores errors in the rest
// of the stream. If an endpoint sends a finish reason in each event, the reply is complete only at the end of the stream. `a` has the
// status and the headers of the response. readStream sets the time limits of `quiet`, from which `in` reads.
func (x *exchange) readStream(a endpoint.Response, in *bufio.Reader, quiet *endpoint.Silence) (completion, error) {
	whole := assembly{tell: renewing(x.renew, x.tell), offers: x.offers}
	stream := endpoint.NewEvents(in)
	for {
		e, err := stream.Next()
		switch {
		case err == nil && !e.Done():
			err = take(a, e, &whole)
		case whole.unread != nil && (err == nil || errors.Is(err, io.EOF)):
			err = whole.unread
		case err == nil && !whole.spoke():
			return whole.completion(), nil // completion.reply makes this an error
		case err == nil && whole.marked():
			return whole.completion(), nil
		case err == nil || errors.Is(err, io.EOF):
			err = endpoint.LostError{Err: errCutShort}
		case !errors.Is(err, endpoint.ErrTooLarge):
			err = endpoint.LostError{Err: err}
		}
		switch {
		case err != nil && whole.finished() && (!whole.goesOn || errors.Is(err, errCutShort)):
			return whole.completion(), nil
		case errors.Is(err, endpoint.ErrTooLarge):
			return completion{}, a.TooLarge()
		case err != nil:
			return completion{}, err
		case whole.finished() && whole.goesOn:
			quiet.Reopen()
			quiet.LimitTo(x.client.IdleTimeout)
		case whole.finished() && whole.withText:
			quiet.Closing(afterText)
		case whole.finished():
			quiet.Closing(endpoint.AfterFinish)
		case whole.spoke():
			// There is no such limit earlier, because a model may need a long time before its first text.
			quiet.LimitTo(x.client.IdleTimeout)
		}
	}
}

// take adds an event of the stream to `whole`, the reply so far. It returns an error if the event is an error, belongs to another API,
// cannot be decoded, or makes the reply too large. It ignores an event that is not a JSON object or list, such as "ping", but keeps an
// error for it. That error counts if the reply does not become complete.
func take(a endpoint.Response, e endpoint.Event, whole *assembly) error {
	a.Body, a.Failed = e.Data, e.Name == "error"
	if err := a.Failure(); err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		unread := &llm.Error{Class: llm.BadReply, Status: a.Status, Err: err,
			Message: "an event of the stream cannot be read: " + string(e.Data)}
		if e.Data[0] == '{' || e.Data[0] == '[' {
			return unread
		}
		whole.unread = cmp.Or(whole.unread, unread)
		return nil
	}
	if len(c.Choices) == 0 && !whole.spoke() {
		if err := a.Foreign(endpoint.Chat); err != nil {
			return err
		}
	}
	return whole.add(c)
}
