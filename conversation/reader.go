package conversation

import (
	"errors"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// ErrLostText says that text was shown which the recorded reply does not have, because the attempt at the model call was lost.
var ErrLostText = errors.New("the model's reply was lost after a part of its text had been shown, and another one has replaced it; read the conversation again")

// Of returns all events of a transcript, or of a part of it. `first` is the index of the first of the messages, and must not be that of a
// tool message. `open` are the calls of the last message that have no result in the transcript: see [agent.State].Calls.
func Of(first int, messages []agent.Message, open []agent.Call) []Event {
	r := NewReader(first)
	var all []Event
	for i := range messages {
		events, err := r.Message(&messages[i])
		if err != nil {
			panic("conversation: " + err.Error()) // no text was shown before
		}
		all = append(all, events...)
	}
	return append(all, r.Open(open)...)
}

// Reader makes events of a transcript as it grows. Each method returns the events that it adds to the list. Create it with [NewReader]. It
// is not safe for concurrent use.
type Reader struct {
	next Position
	// asked are the calls of the last reply, and results those of their results that the reader has read. round is the newest round of waits
	// that is in the list.
	asked   []Call
	results []*agent.Message
	round   int
	// shown is the part of the text of a running model call that is already in the list. `reply` is the key of the call.
	reply agent.Key
	shown string
}

// NewReader returns a reader of the messages from the index `first` on, which must not be that of a tool message.
func NewReader(first int) *Reader { return &Reader{next: Position{Message: first}} }

// Index returns the index of the message that the reader reads next.
func (r *Reader) Index() int {
	if len(r.asked) > 0 {
		return r.next.Message + 1 + len(r.results)
	}
	return r.next.Message
}

// add adds an event to the list and to `events`.
func (r *Reader) add(events []Event, e Event) []Event {
	e.Position = r.next
	r.next.Number++
	return append(events, e)
}

// turnPage lets the events of the next message follow.
func (r *Reader) turnPage() { r.next = Position{Message: r.next.Message + 1} }

// Message reads the next message of the transcript. The error is [ErrLostText].
func (r *Reader) Message(m *agent.Message) (events []Event, err error) {
	switch {
	case m.Role == llm.Tool:
		return r.result(m), nil
	case m.Role == llm.Assistant:
		return r.replied(m)
	case m.BringsLateResult():
		events = r.add(events, Event{Kind: LateResult, Message: m})
	case m.Notice:
		events = r.add(events, Event{Kind: Correction, Message: m})
	default:
		events = r.add(events, Event{Kind: Message, Message: m})
	}
	r.turnPage()
	return events, nil
}

func (r *Reader) replied(m *agent.Message) (events []Event, err error) {
	text, ok := strings.CutPrefix(m.Content, r.shown)
	if !ok || r.shown != "" && r.reply != m.Key {
		return nil, ErrLostText
	}
	for piece := range Pieces(text) {
		events = r.add(events, Event{Kind: Text, Reply: m.Key, Text: piece})
	}
	r.reply, r.shown = "", ""
	if len(m.ToolCalls) == 0 {
		events = r.add(events, Event{Kind: Answer, Reply: m.Key, Message: m})
		r.turnPage()
		return events, nil
	}
	events = r.add(events, Event{Kind: Reply, Reply: m.Key, Message: m})
	r.asked, r.results, r.round = nil, nil, 0
	for i, c := range m.ToolCalls {
		r.asked = append(r.asked, Call{Reply: m.Key, Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		events = r.add(events, Event{Kind: Asked, Call: r.asked[i]})
	}
	return events, nil
}

// Open reads the calls of the last reply while they have no result in the transcript.
func (r *Reader) Open(calls []agent.Call) []Event {
	waited := make([][]agent.Waited, len(r.asked))
	for _, c := range calls {
		if c.Position < len(waited) && c.Model == r.asked[c.Position].Reply {
			waited[c.Position] = c.Waited
		}
	}
	return r.wait(nil, waited)
}

// wait adds the waits that are not in the list yet: those of later rounds. `waited` has the waits of each call.
func (r *Reader) wait(events []Event, waited [][]agent.Waited) []Event {
	type begun struct {
		call Call
		wait agent.Waited
	}
	var all []begun
	for i, waits := range waited {
		for _, w := range waits {
			if w.Round > r.round {
				all = append(all, begun{r.asked[i], w})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y begun) int { return x.wait.Round - y.wait.Round })
	for _, b := range all {
		r.round = b.wait.Round
		events = r.add(events, Event{Kind: Waits, Call: b.call, Wait: b.wait})
	}
	return events
}

// result reads a result. The results of a reply follow each other, and the list has them after all waits of the calls.
func (r *Reader) result(m *agent.Message) (events []Event) {
	r.results = append(r.results, m)
	if len(r.results) < len(r.asked) {
		return nil
	}
	waited := make([][]agent.Waited, len(r.asked))
	for i, result := range r.results {
		if i < len(waited) {
			waited[i] = result.Waited
		}
	}
	events = r.wait(nil, waited)
	for i, result := range r.results {
		r.turnPage()
		if i < len(r.asked) {
			events = r.add(events, Event{Kind: Result, Call: r.asked[i], Message: result})
		}
	}
	r.turnPage()
	r.asked, r.results, r.round = nil, nil, 0
	return events
}

// Partial reads the text so far of a model call that is running. It adds the pieces that are certain. It adds none if the text does not
// begin with what was shown before, which another attempt at the call may cause: then the reply decides.
func (r *Reader) Partial(reply agent.Key, text string) (events []Event) {
	if len(r.asked) > 0 || r.shown != "" && r.reply != reply {
		return nil
	}
	more, ok := strings.CutPrefix(text, r.shown)
	if !ok {
		return nil
	}
	r.reply = reply
	for n := piece(more); n > 0; n = piece(more) {
		events = r.add(events, Event{Kind: Text, Reply: reply, Text: more[:n]})
		r.shown, more = r.shown+more[:n], more[n:]
	}
	return events
}
