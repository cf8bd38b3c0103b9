package openai

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// responsesExchange reads the response to one request to the Responses API.
type responsesExchange struct {
	client *Client
	tell   func(llm.Delta) // is called with each delta of a streamed reply
	renew  func()          // is called for each part of a streamed reply: see [endpoint.WithTimeout]

	reply responseBody // set by the function that [responsesExchange.read] returns
}

// read returns a function that reads the response, streamed or not, and stores it in the field reply. `ended` must return an error if
// the context of the request has ended, and nil otherwise.
func (x *responsesExchange) read(ended func() error) endpoint.Reader {
	return func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) (err error) {
		if a.Status < http.StatusMultipleChoices && endpoint.IsStream(a.Header, body) {
			x.reply, err = x.readStream(a, body, quiet)
			return err
		}
		if a, err = endpoint.ReadBody(a, body, ended); err != nil {
			return err
		}
		return x.readWhole(a)
	}
}

// readWhole reads a response that is not streamed into the field reply.
func (x *responsesExchange) readWhole(a endpoint.Response) error {
	if err := json.Unmarshal(a.Body, &x.reply); err != nil {
		return a.Bad(endpoint.Responses, err)
	}
	if x.reply.missing {
		if err := a.Foreign(endpoint.Responses); err != nil {
			return err
		}
	}
	return x.reply.failure(a)
}

// readStream reads an event stream and returns the response that its events make. When the response is complete, readStream ignores
// errors in the rest of the stream. For chat completions, see [exchange.readStream].
func (x *responsesExchange) readStream(a endpoint.Response, in *bufio.Reader, quiet *endpoint.Silence) (responseBody, error) {
	whole := responseAssembly{tell: x.tell}
	stream := endpoint.NewEvents(in)
	var unread *llm.Error // the error for the first event that was ignored
	for {
		e, err := stream.Next()
		switch {
		case err == nil && !e.Done():
			var ignored *llm.Error
			ignored, err = x.take(a, e, &whole)
			unread = cmp.Or(unread, ignored)
		case unread != nil && (err == nil || errors.Is(err, io.EOF)):
			err = unread
		case err == nil && whole.marked():
			return whole.response(), nil
		case err == nil || errors.Is(err, io.EOF):
			err = endpoint.LostError{Err: errNotEnded}
		case !errors.Is(err, endpoint.ErrTooLarge):
			err = endpoint.LostError{Err: err}
		}
		switch {
		case err != nil && whole.final != nil:
			return whole.response(), nil
		case errors.Is(err, endpoint.ErrTooLarge):
			return responseBody{}, a.TooLarge()
		case err != nil:
			return responseBody{}, err
		case whole.final != nil:
			quiet.Closing(endpoint.AfterFinish)
		case whole.spoke():
			// There is no such limit earlier, because a model may need a long time before its first text.
			quiet.LimitTo(x.client.IdleTimeout)
		}
	}
}

var errNotEnded = errors.New("the stream ended without the event response.completed, so the reply is incomplete")

// take adds an event of the stream to `whole`, the response so far. The error `err` ends the stream: the event is an error, belongs to
// another API, cannot be decoded, or makes the response too large. An event that is not a JSON object or list is ignored. For such an
// event, take returns the error `ignored`, which counts if the response does not become complete. After the event that ends the response,
// take ignores all events.
func (x *responsesExchange) take(a endpoint.Response, e endpoint.Event, whole *responseAssembly) (ignored *llm.Error, err error) {
	if whole.final != nil {
		return nil, nil
	}
	var event responseEvent
	bad := json.Unmarshal(e.Data, &event)
	event.Type = cmp.Or(event.Type, text(e.Name))
	a.Body, a.Failed = e.Data, e.Name == "error" || event.Type == "error"
	if err := a.Failure(); err != nil {
		return nil, err
	}
	if bad != nil {
		unread := &llm.Error{Class: llm.BadReply, Status: a.Status, Err: bad,
			Message: "an event of the stream cannot be read: " + string(e.Data)}
		if e.Data[0] == '{' || e.Data[0] == '[' {
			return nil, unread
		}
		return unread, nil
	}
	if event.Type == "" && event.Object == "response" { // a whole response in one event
		event.Type = "response.completed"
		_ = json.Unmarshal(e.Data, &event.Response.value) // an object
	}
	part, err := whole.add(a, event)
	switch {
	case err != nil:
		return nil, err
	case part:
		x.renew()
	case !whole.spoke():
		return nil, a.Foreign(endpoint.Responses)
	}
	return nil, nil
}

// responseEvent is one event of a stream. The types of its fields accept any JSON value.
type responseEvent struct {
	Type         text                   `json:"type"`
	Object       text                   `json:"object"`
	OutputIndex  *count                 `json:"output_index"`
	ItemID       text                   `json:"item_id"`
	SummaryIndex count                  `json:"summary_index"`
	Delta        text                   `json:"delta"`
	Arguments    text                   `json:"arguments"`
	Item         outputItem             `json:"item"`
	Response     optional[responseBody] `json:"response"`
}
