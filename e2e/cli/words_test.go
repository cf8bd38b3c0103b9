package cli_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// speech stops the streams of a model, so that a test can look at a reply that is not complete yet. Stream n stops
// before the event with the number at[n], and continues when the test sends a value to open[n]. The value true cuts the
// stream.
type speech struct {
	mu      sync.Mutex
	streams int
	// at and open have an element for each stream that stops.
	at   []int
	open []chan bool
}

func newSpeech(at ...int) *speech {
	s := &speech{at: at}
	for range at {
		s.open = append(s.open, make(chan bool, 1))
	}
	return s
}

// paces makes s stop the streams of the endpoint e. It is an option for [world.New].
func (s *speech) paces(e *standin.Endpoint) { e.Pace = s.pace }

func (s *speech) pace(_ llm.Request, event int) {
	s.mu.Lock()
	if event == 0 {
		s.streams++
	}
	n := s.streams - 1
	s.mu.Unlock()
	if n < len(s.at) && event == s.at[n] && <-s.open[n] {
		panic(http.ErrAbortHandler)
	}
}

// release lets all streams go on. A test defers it, so that no stream waits after the test has failed.
func (s *speech) release() {
	for _, open := range s.open {
		close(open)
	}
}

// A program that watches an agent gets the text of a reply while the model writes it. If the attempt fails, the text
// starts again with the next attempt. The message has the text of the last attempt.
func TestWordsComeWhileTheModelSpeaks(t *testing.T) {
	const said = "The quick brown fox jumps over the lazy dog."
	s := newSpeech(3, 5) // the first stream stops after two pieces, the second after four
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(said), nil }, nil, "", s.paces)
	defer s.release()
	w.Worker()
	_, err := w.Client.Start(t.Context(), reagent.StartOptions{ID: t.Name(), Agent: "x", Message: "speak", PartialText: true})
	require.NoError(t, err)

	var heard []reagent.PartialText
	seen, voided := map[int]int{}, false // seen has the length of the longest text of each attempt
	for p, err := range w.Client.Watch(t.Context(), t.Name(), 0) {
		require.NoError(t, err)
		switch words := p.PartialText; {
		case words != nil:
			require.True(t, strings.HasPrefix(said, words.Text), words.Text)
			require.Len(t, words.Text, words.Said)
			require.False(t, voided && words.Attempt == 1, "the first attempt is over")
			heard = append(heard, *words)
			if words.Attempt == 1 && words.Said == 14 && seen[1] < 14 {
				s.open[0] <- true
			}
			if words.Attempt == 2 && words.Said == 28 && seen[2] < 28 {
				s.open[1] <- false
			}
			seen[words.Attempt] = max(seen[words.Attempt], words.Said)
		case p.Retry != nil:
			voided = true
		case p.Message != nil && p.Message.Role == llm.Assistant:
			require.Equal(t, said, p.Message.Content)
			require.NotEmpty(t, heard)
			require.Equal(t, heard[0].Key, p.Message.Key)
		}
		if p.Status.Ended() {
			require.Nil(t, p.PartialText)
			break
		}
	}
	require.Equal(t, 14, seen[1])
	require.GreaterOrEqual(t, seen[2], 28)
	require.Len(t, seen, 2)
	require.True(t, voided, "between the two nothing was said")
}
