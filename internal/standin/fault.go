package standin

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// MaxFaultsInARow is how many successive attempts at one request may get a fault. The number is small, because an agent gives
// up after a few failed attempts, for example after three empty replies.
const MaxFaultsInARow = 2

// FaultKinds is the number of kinds of faults, and so the number of keys that [Faults.Counts] can have.
var FaultKinds = len(kinds)

// Faults makes some responses of an [Endpoint] faulty. Use it to test how callers handle errors. The faults are rate limits with a
// short wait, overload, error pages, errors within a response, responses that are missing or cut, empty replies, and responses that
// cannot be decoded. The Endpoint calls its [Endpoint.Client] even if the response will be faulty, so a fault is like a reply that
// was lost on the way to the caller.
//
// The fields determine which attempt at which request gets which fault. The order in which different requests arrive has no
// influence. A request is identified by its Idempotency-Key header, or by its body if the header is missing. At most two
// successive attempts at a request get a fault. Set the fields before the first request.
type Faults struct {
	// Seed is the seed of the random choices. With another Seed, other attempts get faults.
	Seed uint64
	// Share is the probability that a response is faulty, from 0 to 1. The actual share of faulty responses is smaller, because at
	// most two successive attempts at a request get a fault.
	Share float64

	mu     sync.Mutex
	asked  map[uint64]uint64 // attempts, by the digest of the request
	row    map[uint64]int    // successive faults, by the digest of the request
	counts map[string]int    // faults, by kind
}

// Counts returns the number of faults so far, by the kind of fault.
func (f *Faults) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// kinds are the kinds of faults. The function `answer` of a kind sends a response with the fault, instead of the correct
// response `a`.
var kinds = []struct {
	name   string
	answer func(w http.ResponseWriter, a goodAnswer, random *rand.Rand)
}{
	{"rate limit", func(w http.ResponseWriter, a goodAnswer, random *rand.Rand) {
		w.Header().Set("Retry-After-Ms", fmt.Sprint(1+random.IntN(50)))
		refuse(w, a.api, &refusal{status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded", message: "Rate limit reached"})
	}},
	{"overload", func(w http.ResponseWriter, a goodAnswer, _ *rand.Rand) {
		w.Header().Set("Retry-After-Ms", "20")
		refuse(w, a.api, &refusal{status: http.StatusServiceUnavailable, kind: "server_error", message: "The engine is currently overloaded"})
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
		problem := a.api.problem(&refusal{status: http.StatusBadGateway, kind: "server_error", message: "Provider disconnected"})
		if !a.stream {
			writeJSON(w, http.StatusOK, problem)
			return
		}
		broken := event{name: "error", data: compact(problem)}
		events := a.events()
		a.pace = nil
		a.writeStream(w, append(events[:random.IntN(len(events)-2):len(events)-2], broken), nil)
	}},
	{"empty reply", func(w http.ResponseWriter, a goodAnswer, _ *rand.Rand) {
		a.reply.Message, a.reply.FinishReason = llm.Message{}, "stop"
		a.write(w)
	}},
	{"garbage", func(w http.ResponseWriter, a goodAnswer, _ *rand.Rand) {
		if a.stream {
			a.pace = nil
			a.writeStream(w, []event{{data: []byte(`{"choices":[{"delta":{"content":"x"}}]}}`)}}, nil)
			return
		}
		_, _ = io.WriteString(w, `"upstream unavailable"`)
	}},
}

// inject decides whether the present attempt at a request gets a fault. If it does, inject sends a faulty response to `w` and
// returns true. If it does not, the caller must send the correct response, `a`. `key` is the request's Idempotency-Key header. If
// the key is empty, the body identifies the request. If `f` is nil, no attempt gets a fault.
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

// next counts an attempt at a request and decides whether the attempt gets a fault. `id` is the [digest] that identifies the
// request. If the attempt gets a fault, next returns a source of random numbers. The caller uses it to choose the fault. If
// the attempt gets no fault, next returns nil.
func (f *Faults) next(id uint64) *rand.Rand {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked, f.row, f.counts = map[uint64]uint64{}, map[uint64]int{}, map[string]int{}
	}
	f.asked[id]++
	random := rand.New(rand.NewPCG(f.Seed, id+f.asked[id])) //nolint:gosec // must be reproducible
	if random.Float64() >= f.Share || f.row[id] == MaxFaultsInARow {
		f.row[id] = 0
		return nil
	}
	f.row[id]++
	return random
}

// digest returns a 64-bit hash (FNV-1a) of a text.
func digest(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return h.Sum64()
}
