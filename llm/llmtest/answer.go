package llmtest

import (
	"bytes"
	"math/rand/v2"
	"net/http"
)

// goodAnswer is the correct response of an [Endpoint] to a request. If the Endpoint has [Faults], it may send a faulty
// response instead.
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

// events returns the events in which the response is streamed. Each element is the data of one event.
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

// safe returns how many bytes of the response's body can be sent at most, so that a client must still notice that the rest is
// missing. In a stream, these are the bytes before the finish reason, because a client treats a stream as complete when it has
// read the finish reason. In any other response, these are all bytes except the last one.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(`"finish_reason":"`)); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
