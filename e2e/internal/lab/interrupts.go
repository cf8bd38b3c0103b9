package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// interrupted is the name of the disturbance that the ledger records for an interrupt.
const interrupted = "interrupt"

// extras records the interrupts of agents, and the messages that a test sends in addition to those of its scenarios.
type extras struct {
	mu    sync.Mutex
	count int
	// accepted has the messages that agents have accepted, by agent ID. perhaps has the texts of the messages that may have been
	// accepted.
	accepted map[string][]reagent.Message
	perhaps  map[string]bool
	// interrupted has the IDs of the agents whose turns may have been interrupted.
	interrupted map[string]bool
}

func newExtras() *extras {
	return &extras{accepted: map[string][]reagent.Message{}, perhaps: map[string]bool{}, interrupted: map[string]bool{}}
}

// next returns a new message. Its text consists of the given words and of a number that no other message has.
func (e *extras) next(words string) reagent.Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	return reagent.Message{ID: fmt.Sprint("extra-", e.count), Text: fmt.Sprint(words, " ", 9000+e.count)}
}

// sent records that a message was sent to the agent with the given ID. The parameter accepted says that the agent has accepted the
// message. Otherwise, this is not known.
func (e *extras) sent(id string, m reagent.Message, accepted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if accepted {
		e.accepted[id] = append(e.accepted[id], m)
	} else {
		e.perhaps[m.Text] = true
	}
}

// wasInterrupted reports whether a turn of the agent may have been interrupted.
func (e *extras) wasInterrupted(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.interrupted[id]
}

// interrupt interrupts the running turn of an agent. A later message lets the turn go on: see [surroundings.goOn].
func (s *surroundings) interrupt(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := s.Client.Interrupt(ctx, id)
	s.extras.mu.Lock()
	defer s.extras.mu.Unlock()
	s.extras.interrupted[id] = true // even after an error, the agent may have been interrupted
	return err
}

// goOn sends an agent whose turn was interrupted a message, with which the turn goes on. The message begins with the given words. It
// is recorded in s.extras.
func (s *surroundings) goOn(ctx context.Context, id, words string) error {
	m := s.extras.next(words)
	s.extras.sent(id, m, false)
	sent, err := s.Client.Send(ctx, id, m)
	if err == nil && sent.Answered == "" {
		s.extras.sent(id, m, true)
	}
	return err
}

// correspondence says which messages an agent has got.
type correspondence struct {
	id string
	// senders has the messages that the agent has accepted from each sender, in the order in which they were sent.
	senders [][]reagent.Message
	perhaps map[string]bool // the texts of the messages that the agent may have accepted
	// cut says that some messages may be in deleted runs. interrupted says that a turn of the agent may have been interrupted.
	cut, interrupted bool
}

// hearMessages checks that each message that an agent accepted is in its transcript once, and that the messages of each sender are in
// their order. The parameter lines is the transcript.
func (v *Verdict) hearMessages(lines []line, got correspondence) {
	places := map[string][]int{}
	for i, l := range lines {
		if l.role == llm.User {
			places[l.content] = append(places[l.content], i)
		}
	}
	known := map[string]bool{}
	for _, messages := range got.senders {
		last := -1
		for _, m := range messages {
			known[m.Text] = true
			at := places[m.Text]
			switch {
			case len(at) == 0 && got.cut:
				continue
			case len(at) == 0:
				v.lost++
				v.problemf("%s: accepted and lost: %q in %v", got.id, m.Text, lines)
				continue
			case len(at) > 1:
				v.problemf("%s: there are %d of %q", got.id, len(at), m.Text)
			}
			// After an interrupt, a later message may enter the interrupted turn, before messages that wait for the next turn.
			if at[0] < last && !got.interrupted {
				v.problemf("%s: %q comes before what was sent before it: %v", got.id, m.Text, lines)
			}
			last = at[0]
		}
	}
	for text := range places {
		if !known[text] && !got.perhaps[text] && !strings.HasPrefix(text, lateResult) && !strings.HasPrefix(text, backgroundResult) {
			v.problemf("%s: nobody sent %q", got.id, text)
		}
	}
}

// lateResult is the beginning of a message with the real result of a call that was left unanswered. backgroundResult is the
// beginning of a message with the result of a sub-agent in the background.
const (
	lateResult       = "The call "
	backgroundResult = "The agent of call "
)
