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
	random *rand.Rand      // chooses where the stream is cut; if nil, all parts have the same size
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

// safe returns a length in bytes: if the body of the response is cut to this length or less, a client must notice that the
// response is incomplete. For a stream, the length is the position of the finish reason, because a client treats a stream
// as complete when it has read the finish reason. For any other response, the length is one byte less than the length of
// the body.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(`"finish_reason":"`)); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
