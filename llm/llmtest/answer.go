package llmtest

import (
	"bytes"
	"math/rand/v2"
	"net/http"
)

// goodAnswer is the correct response of an [Endpoint] to a request.
type goodAnswer struct {
	whole  completion
	stream bool            // send an event stream
	usage  bool            // send the usage at the end of the stream
	random *rand.Rand      // decides where the stream is cut; nil means even cuts
	pace   func(event int) // see Endpoint.Pace
}

// write sends the response.
func (a goodAnswer) write(w http.ResponseWriter) {
	if a.stream {
		writeStream(w, a.events(), a.random, a.pace)
		return
	}
	writeJSON(w, http.StatusOK, a.whole)
}

// events returns the data of the events of the stream.
func (a goodAnswer) events() [][]byte { return events(a.whole, a.usage, cutter{a.random}) }

// contentType returns the Content-Type header of the response.
func (a goodAnswer) contentType() string {
	if a.stream {
		return "text/event-stream"
	}
	return "application/json"
}

// body returns the body of the response.
func (a goodAnswer) body() []byte {
	if !a.stream {
		return compact(a.whole)
	}
	var all bytes.Buffer
	for _, data := range a.events() {
		all.WriteString("data: " + string(data) + "\n\n")
	}
	return all.Bytes()
}

// safe returns a length n for the given body of the response. If body is cut to n bytes or less, a client must treat the
// response as incomplete. For a stream, n is the position of the finish reason, because a stream counts as complete when the
// client has its finish reason.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(`"finish_reason":"`)); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
