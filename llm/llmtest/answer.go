package llmtest

import (
	"bytes"
	"math/rand/v2"
	"net/http"
)

// goodAnswer is what an endpoint answers when nothing goes wrong.
type goodAnswer struct {
	whole  completion
	stream bool
	usage  bool
	random *rand.Rand
	pace   func(event int)
}

func (a goodAnswer) write(w http.ResponseWriter) {
	if a.stream {
		writeStream(w, a.events(), a.random, a.pace)
		return
	}
	writeJSON(w, http.StatusOK, a.whole)
}

func (a goodAnswer) events() [][]byte { return events(a.whole, a.usage, cutter{a.random}) }

func (a goodAnswer) contentType() string {
	if a.stream {
		return "text/event-stream"
	}
	return "application/json"
}

// body is the answer's body.
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

// safe is the number of bytes below which a body is not a whole answer: a stream
// is one once its finish reason is there.
func (a goodAnswer) safe(body []byte) int {
	if at := bytes.LastIndex(body, []byte(`"finish_reason":"`)); a.stream && at > 0 {
		return at
	}
	return len(body) - 1
}
