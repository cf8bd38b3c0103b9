package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Guardrails are the names of the functions and MCP tools that judge texts before they enter the agent or leave it. They judge in this
// order, and each judges what the one before has let through.
type Guardrails struct {
	// Messages judge the messages of people and programs, and the answers of people to questions, before the model can see them.
	Messages []string `json:"messages,omitempty"`
	// Answers judge the answers of the model before they are in the transcript, and so before anybody gets them.
	Answers []string `json:"answers,omitempty"`
}

// TextKind says what a text is that guardrails judge.
type TextKind string

const (
	// TextMessage is a message, or the answer of a person to a question.
	TextMessage TextKind = "message"
	// TextAnswer is an answer of the model: a reply without tool calls.
	TextAnswer TextKind = "answer"
)

// VerdictAction says what becomes of a text. The values never change, because histories contain them.
type VerdictAction string

const (
	// TextAllowed lets the text through.
	TextAllowed VerdictAction = "allow"
	// TextChanged lets another text through in its place.
	TextChanged VerdictAction = "change"
	// TextRefused lets nothing through.
	TextRefused VerdictAction = "refuse"
	// TextAsks lets a person decide.
	TextAsks VerdictAction = "ask"
)

// Verdict is the judgement of a guardrail, or of a person, on a text.
type Verdict struct {
	// Action says what becomes of the text.
	Action VerdictAction `json:"action"`
	// Text takes the place of the text. It is set with [TextChanged] only.
	Text string `json:"text,omitempty"`
	// Reason says why the text is refused, or why a person is asked. It has at most 4000 bytes.
	Reason string `json:"reason,omitempty"`
}

// Check returns an error if the verdict is not valid. The caller then lets a person decide.
func (v Verdict) Check() error {
	switch {
	case len(v.Reason) > maxReasonBytes:
		return fmt.Errorf("verdict: the reason has %d bytes; the limit is %d: shorten the reason", len(v.Reason), maxReasonBytes)
	case !utf8.ValidString(v.Reason) || !utf8.ValidString(v.Text):
		return errors.New("verdict: the text or the reason is not UTF-8; encode it as UTF-8")
	case v.Action != TextChanged && v.Text != "":
		return fmt.Errorf("verdict: there is a text with the action %q; only the action %q has one", v.Action, TextChanged)
	}
	switch v.Action {
	case TextAllowed, TextRefused, TextAsks:
		return nil
	case TextChanged:
		if strings.TrimSpace(v.Text) == "" {
			return errors.New("verdict: the changed text is empty; refuse the text instead")
		}
		if len(v.Text) > MaxMessageBytes {
			return fmt.Errorf("verdict: the changed text has %d bytes; the limit is %d: shorten it", len(v.Text), MaxMessageBytes)
		}
		return nil
	}
	return fmt.Errorf("verdict: the action is %.64q; it must be %q, %q, %q or %q", v.Action, TextAllowed, TextChanged, TextRefused, TextAsks)
}

// GivenVerdict is a verdict with the guardrail, and with the person who has decided.
type GivenVerdict struct {
	// Guardrail is the name of the guardrail.
	Guardrail string `json:"guardrail"`
	// Action and Reason are those of the [Verdict].
	Action VerdictAction `json:"action"`
	Reason string        `json:"reason,omitempty"`
	// Decider is the person who has decided on the text; nil if the guardrail itself has.
	Decider *Decider `json:"decider,omitempty"`
}

// RefusedText is a text that was refused. The state does not have the text itself.
type RefusedText struct {
	GivenVerdict
	// Kind says what the text was.
	Kind TextKind `json:"kind"`
	// Of is the message ID of a message, the key of the model call of an answer, or the key of the call whose question was answered.
	Of Key `json:"of"`
	// After is the number of messages in the transcript at the refusal.
	After int `json:"after,omitempty"`
	// Time is the time of the refusal, in Unix milliseconds.
	Time int64 `json:"time"`
}

// Reply is what the sender of a message or the reader of an answer gets in place of the refused text.
func (r RefusedText) Reply() string { return textRefused(r.Kind, r.GivenVerdict) }

// AnswersQuestion reports whether the text was the answer of a person to a question. The agent has then gone on without it.
func (r RefusedText) AnswersQuestion() bool { return r.Kind == TextMessage && CheckCall(r.Of) == nil }

// maxRefused is the largest number of refusals in a state. A further one removes the oldest.
const maxRefused = 200

// AskedText is a text about which a guardrail asks a person: the arguments of the call that [State.Open] has for it.
type AskedText struct {
	// Kind says what the text is.
	Kind TextKind `json:"kind"`
	// Text is the text, with the changes of earlier guardrails.
	Text string `json:"text"`
	// Reason says why a person is asked.
	Reason string `json:"reason,omitempty"`
}

// AskedText returns the text about which the guardrail with the name of the call asks a person. The second result is false for any other
// call.
func (c *Call) AskedText() (AskedText, bool) {
	var t AskedText
	if !isKey(c.Key, KindText) || readArguments(c.Arguments, &t) != nil {
		return AskedText{}, false
	}
	return t, true
}

// MessageRefused is the class of the failure of a task whose only messages were refused.
const MessageRefused = "MessageRefused"

// RefusedMessage returns the refusal of the message with the given ID; nil if it was not refused.
func (s *State) RefusedMessage(id string) *RefusedText {
	return first(s.Refused, func(r *RefusedText) bool { return r.Kind == TextMessage && r.Of == Key(id) })
}

// Refusal returns the refusal because of which the agent has not answered its last message; nil if the agent has answered it, or has not
// answered yet. If a guardrail has refused the answer of a person to a question, the model knows, and its reply is an answer.
func (s *State) Refusal() *RefusedText {
	if len(s.Refused) == 0 || s.Count() > 0 && !s.answered() {
		return nil
	}
	r, messages := &s.Refused[len(s.Refused)-1], s.Count()
	if r.Kind == TextAnswer {
		messages-- // the notice in place of the answer
	}
	if r.After != messages || r.AnswersQuestion() {
		return nil
	}
	return r
}

// JudgesAnswers reports whether guardrails judge the answers of the model.
func (s *State) JudgesAnswers() bool { return len(s.guardrails(TextAnswer)) > 0 }

func (s *State) guardrails(kind TextKind) []string {
	switch {
	case s.Definition == nil:
		return nil
	case kind == TextAnswer:
		return s.Definition.Guardrails.Answers
	}
	return s.Definition.Guardrails.Messages
}
