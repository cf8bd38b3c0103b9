package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// A text that guardrails judge waits where it is: a message in the queue, an answer of the model in [State].Withheld, and the answer of a
// person beside its call. So a text that was refused was never in the transcript, and no fork, summary or request has it.

// CheckText asks a guardrail for its verdict on a text, and applies [TextChecked].
type CheckText struct {
	// Key identifies the text, its place and the guardrail: see [Key].
	Key Key
	// Kind says what the text is.
	Kind TextKind
	// Text is the text, with the changes of earlier guardrails.
	Text string
	// Guardrail is the name of the guardrail.
	Guardrail string
	// Then is the step that would come without the check. Work in flight that this step wants is not stopped: see [Wants].
	Then Step
	// Of is the ID of the message, the key of the model call, or the key of the call whose question was answered.
	Of Key
}

func (s CheckText) wants(key Key) bool { return s.Key == key || s.Then.wants(key) }

// TextChecked brings the verdict of a guardrail on a text.
type TextChecked struct {
	// Key is the key of the step [CheckText].
	Key     Key
	Verdict Verdict
	// Recalled reports whether the verdict comes from the history of an earlier run.
	Recalled bool
	Time     int64
}

// TextCheck is what the agent knows about a text that guardrails judge, until the text has entered or left, or was refused.
type TextCheck struct {
	// Kind says what the text is.
	Kind TextKind `json:"kind"`
	// Of is the ID of the message, the key of the model call, or the key of the call whose question was answered.
	Of Key `json:"of"`
	// Text is the text, with the changes so far.
	Text string `json:"text"`
	// Left are the guardrails that have not let the text through yet. The first of them judges now. It is empty if all have.
	Left []string `json:"left,omitempty"`
	// Key is the key of the check by the first of Left. A decision of a person on the text names it.
	Key Key `json:"key,omitempty"`
	// Changed reports whether a guardrail has changed the text.
	Changed bool `json:"changed,omitempty"`
	// Asks reports whether a person is to decide, and Reason says why.
	Asks   bool   `json:"asks,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Notified reports whether the agent has made a [Notification] about the wait.
	Notified bool `json:"notified,omitempty"`
	// Verdicts are those that have not simply let the text through.
	Verdicts []GivenVerdict `json:"verdicts,omitempty"`
	// Given is the decision that brought the answer of a person to a question; nil for any other text.
	Given *Decision `json:"given,omitempty"`
}

// WithheldAnswer is an answer of the model that is not in the transcript yet, because guardrails judge it.
type WithheldAnswer struct {
	Message llm.Message `json:"message"`
	// Key is the key of the model call.
	Key Key `json:"key"`
	// FinishReason is that of [Message].
	FinishReason string `json:"finish_reason,omitempty"`
	// Model is that of [Message].
	Model string `json:"model,omitempty"`
	// Invalid is that of [ModelReplied].
	Invalid string `json:"invalid,omitempty"`
}

// check returns the check of a text; nil if there is none.
func (s *State) check(kind TextKind, of Key) *TextCheck {
	return first(s.Checks, func(t *TextCheck) bool { return t.Kind == kind && t.Of == of })
}

func (s *State) newCheck(kind TextKind, of Key, text string) TextCheck {
	t := TextCheck{Kind: kind, Of: of, Text: text, Left: s.guardrails(kind)}
	t.Key = s.textKey(t)
	return t
}

func (t TextCheck) step(then Step) Step {
	return CheckText{Key: t.Key, Kind: t.Kind, Text: t.Text, Guardrail: t.Left[0], Then: then, Of: t.Of}
}

// checkQuestions returns the check of a person's answer to a question, or `then` if there is none to make.
func (s *State) checkQuestions(then Step) Step {
	t := first(s.Checks, func(t *TextCheck) bool { return t.Given != nil && !t.Asks && s.judgedCall(*t) != nil })
	if t == nil {
		return then
	}
	return t.step(then)
}

// judgedCall returns the call whose answer is judged; nil if the agent does not wait for it any more.
func (s *State) judgedCall(t TextCheck) *Call {
	return first(s.Calls, func(c *Call) bool { return c.Key == t.Of && c.Judged && c.Result == nil && c.Stopped == nil })
}

// take returns the step that takes the message, or the check that comes before. While a person is asked about the message, the agent
// waits, because the place of a message in the transcript must not depend on how fast a person is.
func (s *State) take(m QueuedMessage) Step {
	take := TakeMessage{ID: m.ID}
	if t := s.check(TextMessage, Key(m.ID)); t != nil {
		switch {
		case t.Asks:
			return Wait{}
		case len(t.Left) > 0:
			return t.step(take)
		}
		return take
	}
	if m.Late != nil || len(s.guardrails(TextMessage)) == 0 || strings.TrimSpace(m.Text) == "" {
		return take
	}
	if s.lastCheck.Of != Key(m.ID) || s.lastCheck.Left[0] != s.guardrails(TextMessage)[0] { // hashing takes time in proportion to the text
		s.lastCheck = s.newCheck(TextMessage, Key(m.ID), m.Text)
	}
	return s.lastCheck.step(take)
}

// checkAnswer is the step while an answer is withheld.
func (s *State) checkAnswer() Step {
	t := s.check(TextAnswer, s.Withheld.Key)
	if t.Asks {
		return Wait{}
	}
	return t.step(Wait{})
}

// withholds reports whether guardrails judge the reply before it enters the transcript, and keeps it until then.
func (s *State) withholds(m llm.Message, e ModelReplied) bool {
	if len(m.ToolCalls) > 0 || strings.TrimSpace(m.Content) == "" || len(s.guardrails(TextAnswer)) == 0 {
		return false
	}
	s.Withheld = &WithheldAnswer{Message: m, Key: e.Key, FinishReason: cutReason(e.Reply.FinishReason), Model: s.wrote(e.Reply), Invalid: e.Invalid}
	s.Checks = append(s.Checks, s.newCheck(TextAnswer, e.Key, m.Content))
	return true
}

// withholdsAnswer reports whether guardrails judge a person's answer to a question before the call gets it, and keeps it until then.
func (s *State) withholdsAnswer(c *Call, d Decision) bool {
	if d.Result == nil || c.Wait.For != WaitsForAnswer || len(s.guardrails(TextMessage)) == 0 || strings.TrimSpace(d.Result.Content) == "" {
		return false
	}
	c.Wait, c.Judged = CallWait{}, true
	t := s.newCheck(TextMessage, c.Key, d.Result.Content)
	t.Given = &d
	s.Checks = append(s.Checks, t)
	return true
}

// apply changes nothing while the agent has not searched other runs: one of them may have a person's decision on the text. The driver
// brings the verdict again.
func (e TextChecked) apply(s *State) bool {
	step, ok := s.next().(CheckText)
	if !ok || step.Key != e.Key || s.unsearched() || e.Verdict.Check() != nil {
		return false
	}
	if s.check(step.Kind, step.Of) == nil {
		s.Checks = append(s.Checks, s.newCheck(step.Kind, step.Of, step.Text))
	}
	if e.Recalled {
		s.Usage.Recalled++
	}
	s.judge(s.check(step.Kind, step.Of), e.Verdict, nil, e.Time)
	s.settleTexts(e.Time)
	return true
}

// judge applies a verdict. A person's decision on the same check, which another run may have got, takes precedence.
func (s *State) judge(t *TextCheck, v Verdict, by *Decider, now int64) {
	given := GivenVerdict{Guardrail: t.Left[0], Action: v.Action, Reason: v.Reason, Decider: by}
	if v.Action != TextAllowed || by != nil {
		t.Verdicts = append(slices.Clip(t.Verdicts), given)
	}
	if i := s.wordOn(*t); i >= 0 && by == nil {
		s.judgeByPerson(t, i, now)
		return
	}
	t.Asks, t.Reason = v.Action == TextAsks, ""
	switch v.Action {
	case TextAsks:
		t.Reason = v.Reason
		return
	case TextRefused:
		s.refuseText(*t, given, now)
		return
	case TextChanged:
		t.Text, t.Changed = v.Text, true
	}
	if t.Left, t.Key, t.Notified = t.Left[1:], "", false; len(t.Left) > 0 {
		t.Key = s.textKey(*t)
		return
	}
	s.letThrough(*t, now)
}

// wordOn returns the index of the decision on the text that was not applied yet; -1 if there is none.
func (s *State) wordOn(t TextCheck) int {
	return slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Key == t.Key && d.Result == nil && !d.Used })
}

// judgeByPerson applies the decision with the given index: an approval lets the text through, and a denial refuses it.
func (s *State) judgeByPerson(t *TextCheck, i int, now int64) {
	d := s.use(i)
	now = cmp.Or(now, d.Time)
	v := Verdict{Action: TextAllowed}
	if !d.Approve {
		v = Verdict{Action: TextRefused, Reason: d.Reason}
	}
	s.judge(t, v, d.decider(), now)
	s.restartTurn(now)
}

// settleTexts applies the decisions on the texts about which a person is asked. If `now` is 0, the time is that of the decision.
func (s *State) settleTexts(now int64) {
	for s.Definition != nil && !s.unsearched() {
		t := first(s.Checks, func(t *TextCheck) bool { return t.Asks && s.wordOn(*t) >= 0 })
		if t == nil {
			return
		}
		s.judgeByPerson(t, s.wordOn(*t), now)
	}
}

// drop removes the check of a text.
func (s *State) dropCheck(kind TextKind, of Key) {
	s.Checks = slices.DeleteFunc(s.Checks, func(t TextCheck) bool { return t.Kind == kind && t.Of == of })
}

// letThrough lets a text through that all guardrails have judged. A message stays in the queue: see [State.take].
func (s *State) letThrough(t TextCheck, now int64) {
	switch {
	case t.Given != nil:
		s.answerQuestion(t, nil, now)
	case t.Kind == TextAnswer:
		w := *s.Withheld
		m := Message{Message: w.Message, Key: w.Key, FinishReason: w.FinishReason, Model: w.Model, Verdicts: t.Verdicts, Time: now}
		if t.Changed {
			m.Content, m.Reasoning, m.Opaque, m.Parts = t.Text, "", llm.Opaque{}, nil // the others may have what was changed
		}
		s.release(m)
		if w.Invalid != "" {
			s.correct(ModelReplied{Key: w.Key, Invalid: w.Invalid, Time: now})
		}
		s.advanceTranscript(now)
	}
}

func (s *State) refuseText(t TextCheck, v GivenVerdict, now int64) {
	r := RefusedText{GivenVerdict: v, Kind: t.Kind, Of: t.Of, After: s.Count(), Time: now}
	s.Refused = append(s.Refused, r)
	s.Refused = slices.Delete(s.Refused, 0, max(0, len(s.Refused)-maxRefused))
	switch {
	case t.Given != nil:
		s.answerQuestion(t, &r, now)
		return
	case t.Kind == TextAnswer:
		s.release(Message{Message: llm.Message{Role: llm.Assistant, Content: r.Reply()}, Key: t.Of, Model: s.Withheld.Model, Verdicts: t.Verdicts, Time: now})
	default:
		s.dropCheck(TextMessage, t.Of)
		s.Queue = slices.DeleteFunc(s.Queue, func(m QueuedMessage) bool { return m.ID == string(t.Of) && m.Late == nil })
		// An interrupted turn that the message was to let go on is held again.
		if s.Released != nil && s.Hold == nil && !s.answered() && !slices.ContainsFunc(s.Queue, func(m QueuedMessage) bool { return m.Late == nil }) {
			s.Hold, s.Released = s.Released, nil
		}
	}
	s.advanceTranscript(now)
}

// release ends the check of the answer, and appends what leaves the agent.
func (s *State) release(m Message) {
	s.dropCheck(TextAnswer, s.Withheld.Key)
	s.Withheld = nil
	s.append(m)
}

// answerQuestion gives a call the answer of a person, or an error result if the answer was refused.
func (s *State) answerQuestion(t TextCheck, refused *RefusedText, now int64) {
	s.dropCheck(t.Kind, t.Of)
	c := s.judgedCall(t)
	if c == nil {
		return
	}
	c.Judged = false
	if refused != nil {
		c.Decider, c.Result = t.Given.decider(), &Result{Content: refused.Reply(), Kind: Errored, Time: now}
	} else {
		d := *t.Given
		given := *d.Result
		given.Content, d.Result = t.Text, &given
		s.giveAnswer(c, d, now)
	}
	s.restartTurn(now)
	s.advanceTranscript(now)
}

// AsksAboutText reports whether a person is to decide on a text.
func (s *State) AsksAboutText() bool {
	return slices.ContainsFunc(s.Checks, func(t TextCheck) bool { return t.Asks && s.isJudged(t) })
}

// isJudged reports whether the agent still needs the check.
func (s *State) isJudged(t TextCheck) bool { return t.Given == nil || s.judgedCall(t) != nil }

// askedText returns the check with the given key about which a person is asked; nil if there is none.
func (s *State) askedText(key Key) *TextCheck {
	return first(s.Checks, func(t *TextCheck) bool { return t.Asks && t.Key == key && s.isJudged(*t) })
}

// Open returns [State.Pending], and then a call for each text about which a person is asked, so that people see and decide on it like a
// call that waits for an approval. Its key is that of the check, its name that of the guardrail, and its arguments are the kind, the text
// and the reason. No worker runs it.
func (s *State) Open() []Call {
	open := s.Pending()
	for _, t := range s.Checks {
		if t.Asks && s.isJudged(t) {
			open = append(open, t.call())
		}
	}
	return open
}

func (t TextCheck) call() Call {
	arguments, err := json.Marshal(AskedText{Kind: t.Kind, Text: t.Text, Reason: t.Reason})
	if err != nil { // no value of this type causes an error
		panic("agent: " + err.Error())
	}
	return Call{Key: t.Key, Name: t.Left[0], Arguments: string(arguments), Wait: CallWait{For: WaitsForApproval, Notified: t.Notified}}
}
