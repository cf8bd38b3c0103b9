package gateway_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const speech = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty."

// halted is an endpoint whose first stream halts in the middle of the text. Then it goes on, or the connection breaks.
type halted struct {
	began atomic.Bool
	open  chan bool // true breaks the connection
}

func (h *halted) pace(_ llm.Request, event int) {
	if event == 12 && !h.began.Swap(true) && <-h.open {
		panic(http.ErrAbortHandler)
	}
}

// A reader whose gateway is killed in the middle of the text goes on at another one after the last event that it has read. So does a reader of
// an agent whose worker was killed: the text that was shown is that of the reply which is recorded, or the stream ends with an error.
func TestReaderGoesOnAfterAKill(t *testing.T) {
	for name, kill := range map[string]func(worker *world.Process, gateway *served){
		"gateway": func(_ *world.Process, gateway *served) { gateway.process.Kill() },
		"worker":  func(worker *world.Process, _ *served) { worker.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			h := &halted{open: make(chan bool, 1)}
			w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(speech), nil }, nil, "",
				func(e *standin.Endpoint) { e.Pace = h.pace })
			defer close(h.open)
			worker := w.Worker()
			first, second := serve(w), serve(w)
			answer := first.request("POST", "/responses", object{"model": "x", "input": "speak", "stream": true})
			defer answer.Body.Close()
			seen := events(t, answer.Body, func(e sent) bool { return e.name == "response.output_text.delta" })
			last := seen[len(seen)-1]
			require.Equal(t, "response.output_text.delta", last.name, "text comes while the model speaks")
			require.True(t, strings.HasPrefix(speech, last.object["delta"].(string)))
			id := seen[0].object["response"].(object)["id"].(string)

			kill(worker, first)
			if name == "worker" {
				w.Worker()
			} else {
				h.open <- false
			}
			rest := second.stream("GET", "/responses/"+id+"?stream=true&starting_after="+strconv.Itoa(len(seen)-1), nil)
			whole := second.stream("GET", "/responses/"+id+"?stream=true", nil)
			require.Equal(t, whole, append(seen, rest...))
			require.Equal(t, speech, text(second.must("GET", "/responses/"+id, nil)))
			require.Equal(t, "response.completed", whole[len(whole)-1].name)
		})
	}
}

// If the reply that is recorded has another text than the reader was shown, the stream ends with an error, and a new one has what is recorded.
func TestLostTextEndsTheStream(t *testing.T) {
	h := &halted{open: make(chan bool, 1)}
	var mu sync.Mutex
	replies := []string{speech, "Another attempt says something else, which is long enough for some pieces."}
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		said := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return llmtest.Say(said), nil
	}, nil, "", func(e *standin.Endpoint) { e.Pace = h.pace })
	defer close(h.open)
	w.Worker()
	s, held := serve(w), serve(w, "--hold-text")
	answer := s.request("POST", "/responses", object{"model": "x", "input": "speak", "stream": true})
	defer answer.Body.Close()
	id, recorded := "", make(chan []sent, 1)
	broken := false
	all := events(t, answer.Body, func(e sent) bool {
		if e.name == "response.created" {
			id = e.object["response"].(object)["id"].(string)
			go func() { recorded <- held.stream("GET", "/responses/"+id+"?stream=true", nil) }()
		}
		if e.name == "response.output_text.delta" && !broken {
			broken = true
			h.open <- true
		}
		return false
	})
	require.Equal(t, "response.failed", all[len(all)-2].name)
	i := slices.IndexFunc(all, func(e sent) bool { return e.name == "error" })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, all[i].object["message"], "lost")
	require.Contains(t, text(s.must("GET", "/responses/"+id, nil)), "Another attempt")
	again := s.stream("GET", "/responses/"+id+"?stream=true", nil)
	require.Equal(t, "response.completed", again[len(again)-1].name)
	require.Equal(t, again, <-recorded, "a gateway that holds text back ends no stream")
}
