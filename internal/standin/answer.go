package standin

import (
	"bytes"
	"math/rand/v2"
	"net/http"

	"github.com/reagent-dev/reagent/llm"
)

// goodAnswer is the correct response of an [Endpoint] to a request. With [Faults], the Endpoint may send a faulty response
// instead.
type goodAnswer struct {
	api    API
	model  string // the model's name in the request
	reply  llm.Reply
	stream bool            // send an event stream
	usage  bool            // send the usage at the end of the stream
	random *rand.Rand      // chooses where the stream is cut; nil means evenly
	pace   func(event int) // called before each event, like [Endpoint.Pace]; may be nil
}

// Stream returns the whole event stream with a reply of "test-model". Every client notices if the stream is cut within the first
// `safe` bytes.
func Stream(a API, reply llm.Reply) (body []byte, safe int) {
	whole := goodAnswer{api: a, model: "test-model", reply: reply, stream: true, usage: true}
	body = whole.body()
	return body, whole.safe(body)
}

func (a goodAnswer) write(w http.ResponseWriter) {
	if a.stream {
		a.writeStream(w, a.events(), a.random)
		return
	}
	writeJSON(w, http.StatusOK, a.api.body(a.model, a.reply))
}

func (a goodAnswer) events() []event {
	return a.api.events(a.model, a.reply, a.usage, cutter{a.random})
}

func (a goodAnswer) contentType() string {
	if a.stream {
		return ContentType(a.api)
	}
	return "application/json"
}

func (a goodAnswer) body() []byte {
	if !a.stream {
		return compact(a.api.body(a.model, a.reply))
	}
	var all bytes.Buffer
	for _, e := range a.events() {
		all.Write(a.bytes(e, "\n"))
	}
	return all.Bytes()
}

// bytes returns an event as it stands in the stream. `end` is the line end of server-sent events.
func (a goodAnswer) bytes(e event, end string) []byte {
	if f, ok := a.api.(framer); ok {
		return f.frame(e)
	}
	return []byte(e.bytes(end))
}

// safe returns the number of bytes before which a test must cut the response, so that every client notices the cut. In a stream,
// this is the last position of the text that [API.finish] returns, because a client may treat the stream as complete after this
// text. For any other response, it is the position of the last byte.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(a.api.finish())); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
