package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// traceParent matches a traceparent of the version 00: https://www.w3.org/TR/trace-context/#traceparent-header.
var traceParent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// checkTraceparent returns an error if the text is neither empty nor a traceparent.
func checkTraceparent(text string) error {
	m := traceParent.FindStringSubmatch(text)
	if text == "" || m != nil && strings.Trim(m[1], "0") != "" && strings.Trim(m[2], "0") != "" {
		return nil
	}
	return fmt.Errorf("the field \"traceparent\" is no traceparent of the version 00; write 00-, 32 hexadecimal digits that are not all 0, "+
		"-, 16 such digits, - and 2 digits, or leave it out (%d bytes)", len(text))
}

// TurnTrace says to which trace a turn belongs. It is the trace of the message that began the turn. If a hold stopped the turn, what comes
// after belongs to the trace of the message that released the hold.
type TurnTrace struct {
	// Message is the ID of this message.
	Message string `json:"message,omitempty"`
	// Parent is its [QueuedMessage].Traceparent.
	Parent string `json:"parent,omitempty"`
	// Began is the time at which the turn began, or went on after a hold, a reset or a resume, in Unix milliseconds. Unlike [Turn].Began, it
	// stays the same when the turn waits for people.
	Began int64 `json:"began,omitempty"`
}

// TurnSpan is the span of a turn in a trace, in the form of W3C Trace Context. All fields are in hexadecimal.
type TurnSpan struct {
	// TraceID has 32 digits. It is that of the message, or a hash of the message's ID if the message has none.
	TraceID string
	// SpanID has 16 digits. It is a hash, so all workers know the span of a turn that has not ended.
	SpanID string
	// ParentID has 16 digits. It is empty if the message has no trace.
	ParentID string
	// Flags has 2 digits: "01" if the trace is sampled.
	Flags string
}

// TurnSpan returns the span of the turn. After a reset or a resume, the turn has another span, because the first one may have ended before.
func (s *State) TurnSpan() TurnSpan {
	t := s.Turn.Trace
	hash := digest([]any{"span", s.AgentID, s.Incarnation, s.ResumedFrom, s.Reset, s.Turn.Number, t.Message})
	if m := traceParent.FindStringSubmatch(t.Parent); m != nil {
		return TurnSpan{TraceID: m[1], SpanID: hash[:16], ParentID: m[2], Flags: m[3]}
	}
	trace := digest([]any{"trace", s.AgentID, s.Incarnation, cmp.Or(t.Message, fmt.Sprint(s.Turn.Number))})
	return TurnSpan{TraceID: trace[:32], SpanID: hash[:16], Flags: "01"}
}

// MessageSpan returns the span of the turn that takes a message of the queue, or that has taken it.
func (s *State) MessageSpan(id string) TurnSpan {
	m := first(s.Queue, func(m *QueuedMessage) bool { return m.ID == id })
	if m == nil || s.TurnRuns() {
		return s.TurnSpan()
	}
	next := State{Identity: s.Identity, ResumedFrom: s.ResumedFrom, Reset: s.Reset, Turn: Turn{Number: s.Turn.Number + 1, Trace: m.trace(0)}}
	return next.TurnSpan()
}

// Traceparent returns the traceparent of what the turn does: its parent is the span of the turn.
func (t TurnSpan) Traceparent() string { return "00-" + t.TraceID + "-" + t.SpanID + "-" + t.Flags }
