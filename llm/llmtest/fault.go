package llmtest

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
)

// maxFaultsInARow is the number of times that one request is answered with a fault before it is
// answered as it should be: clients give up after a few attempts, three for an
// empty reply, and a soak test is about what happens when they do not have to.
const maxFaultsInARow = 2

// Faults has an [Endpoint] answer some requests as a bad day would: rate limits
// with a short wait, overload, errors within a stream, streams and bodies that
// are cut, empty replies, garbage. The model is asked all the same, as it is when
// an answer gets lost.
//
// Which attempt at which request meets which fault follows from Seed alone, not
// from the order in which requests arrive; requests are told apart by their
// Idempotency-Key, or else by their body. No request meets more than two in a
// row. Fields are set before the first request.
type Faults struct {
	Seed uint64
	// Share is the part of the answers that are faults, from 0 to 1.
	Share float64

	mu     sync.Mutex
	asked  map[uint64]uint64
	row    map[uint64]int
	counts map[string]int
}

// Counts returns how often each kind of fault happened.
func (f *Faults) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// kinds are the faults, by name. Those of answer get what would have been sent.
var kinds = []struct {
	name   string
	answer func(w http.ResponseWriter, a goodAnswer, random *rand.Rand)
}{
	{"rate limit", func(w http.ResponseWriter, _ goodAnswer, random *rand.Rand) {
		w.Header().Set("Retry-After-Ms", fmt.Sprint(1+random.IntN(50)))
		refuse(w, &refusal{status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded", message: "Rate limit reached"})
	}},
	{"overload", func(w http.ResponseWriter, _ goodAnswer, _ *rand.Rand) {
		w.Header().Set("Retry-After-Ms", "20")
		refuse(w, &refusal{status: http.StatusServiceUnavailable, kind: "server_error", message: "The engine is currently overloaded"})
	}},
	{"gateway page", func(w http.ResponseWriter, _ goodAnswer, _ *rand.Rand) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head></html>")
	}},
	{"no answer", func(http.ResponseWriter, goodAnswer, *rand.Rand) { panic(http.ErrAbortHandler) }},
	{"cut answer", func(w http.ResponseWriter, a goodAnswer, random *rand.Rand) {
		w.Header().Set("Content-Type", a.contentType())
		body := a.body()
		send(w, body[:random.IntN(a.safe(body))])
		panic(http.ErrAbortHandler)
	}},
	{"ended early", func(w http.ResponseWriter, a goodAnswer, random *rand.Rand) {
		w.Header().Set("Content-Type", a.contentType())
		body := a.body()
		send(w, body[:random.IntN(a.safe(body))])
	}},
	{"error in answer", func(w http.ResponseWriter, a goodAnswer, random *rand.Rand) {
		broken := []byte(`{"error":{"code":502,"message":"Provider disconnected"}}`)
		if !a.stream {
			writeJSON(w, http.StatusOK, errorBody{errorObject{Message: "Provider disconnected", Type: "server_error"}})
			return
		}
		events := a.events()
		writeStream(w, append(events[:random.IntN(len(events)-2):len(events)-2], broken), nil, nil)
	}},
	{"empty reply", func(w http.ResponseWriter, a goodAnswer, _ *rand.Rand) {
		a.whole.Choices[0].Message = spoken{Role: "assistant"}
		a.whole.Choices[0].FinishReason = "stop"
		a.write(w)
	}},
	{"garbage", func(w http.ResponseWriter, a goodAnswer, _ *rand.Rand) {
		if a.stream {
			writeStream(w, [][]byte{[]byte(`{"choices":[{"delta":{"content":"x"}}]}}`)}, nil, nil)
			return
		}
		_, _ = io.WriteString(w, `"upstream unavailable"`)
	}},
}

// inject answers with a fault, if this attempt is to meet one.
func (f *Faults) inject(w http.ResponseWriter, key string, body []byte, a goodAnswer) bool {
	if f == nil {
		return false
	}
	id := digest(key)
	if key == "" {
		id = digest(string(body))
	}
	random := f.next(id)
	if random == nil {
		return false
	}
	kind := kinds[random.IntN(len(kinds))]
	f.mu.Lock()
	f.counts[kind.name]++
	f.mu.Unlock()
	kind.answer(w, a, random)
	return true
}

// next counts an attempt at a request; nil is one without a fault.
func (f *Faults) next(id uint64) *rand.Rand {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked, f.row, f.counts = map[uint64]uint64{}, map[uint64]int{}, map[string]int{}
	}
	f.asked[id]++
	random := rand.New(rand.NewPCG(f.Seed, id+f.asked[id])) //nolint:gosec // to be the same each time
	if random.Float64() >= f.Share || f.row[id] == maxFaultsInARow {
		f.row[id] = 0
		return nil
	}
	f.row[id]++
	return random
}

func digest(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return h.Sum64()
}
