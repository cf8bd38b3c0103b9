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

// safe returns a length in bytes. If the body of the response is cut to this length or less, a client must treat the
// response as incomplete. A client treats a stream as complete when it has read the finish reason. So the length for a
// stream is the position of the finish reason. For any other response, the length is one byte less than the whole body.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(`"finish_reason":"`)); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
