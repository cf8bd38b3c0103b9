package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reagent-dev/reagent/internal/clip"
)

// Decision is what somebody outside the agent decides on one call. There are three kinds: an approval, a denial and a result. A result is
// that of an external call (see [EffectExternal]) or the answer to a question. A decision applies only to the arguments that the person
// saw.
type Decision struct {
	// Key is the key of the call, which depends on the arguments of the call; or that of the check of a text: see [TextCheck].
	Key Key `json:"key"`
	// Approve reports whether the person approves the call. False means a denial, unless Result is set.
	Approve bool `json:"approve"`
	// Result is the result of an external call, or the answer to an [Elicitation]; nil for an approval and for a denial.
	Result *GivenResult `json:"result,omitempty"`
	// Remember says which later calls the approval also permits: see [Permission].
	Remember Remember `json:"remember,omitempty"`
	// Message is the ID of the message that brought the result: see [AskUser]. A further message with this ID changes nothing. Empty means
	// that no message brought it.
	Message string `json:"message,omitempty"`
	// Reason is the reason for a denial, as a text for the model.
	Reason string `json:"reason,omitempty"`
	// Arguments replace the model's arguments. Empty means that the model's arguments stay.
	Arguments string `json:"arguments,omitempty"`
	// Actor is the person who decided, or the program.
	Actor
	// Time is the time at which an agent received the decision, in Unix milliseconds. Clients leave it 0.
	Time int64 `json:"time,omitempty"`
	// Used reports whether the decision has been applied to its call.
	Used bool `json:"used,omitempty"`
	// Early reports whether the run got the decision before it had searched other runs, and has not found it in another run. So somebody
	// has made it after the reset, and another run may have settled the call before. The driver asks other runs about the call first: see
	// [Call].Search. A decision that a search has found is early if the other run got it before its own search had ended.
	Early bool `json:"early,omitempty"`
}

// GivenResult is the result of an external call, or the answer to a question, as somebody outside the agent has given it.
type GivenResult struct {
	// Content is the text of the result.
	Content string `json:"content"`
	// IsError reports whether the result is an error.
	IsError bool `json:"is_error,omitempty"`
	// Hash is a hash of the two other fields. It replaces them in the state after the result was applied: see [State.ResultGiven].
	Hash string `json:"hash,omitempty"`
}

// hash returns the field Hash. If it is empty, hash computes its value.
func (r GivenResult) hash() string {
	if r.Hash != "" {
		return r.Hash
	}
	return digest([]any{r.Content, r.IsError})[:32]
}

// Decider says who has decided on a call. It is stored with the result of the call, and the model does not see it.
type Decider struct {
	// Denied reports whether the person has denied the call.
	Denied bool `json:"denied,omitempty"`
	// Actor and Time are those of the [Decision].
	Actor
	Time int64 `json:"time,omitempty"`
	// Remembered reports whether the person decided on an earlier call: see [Permission].
	Remembered bool `json:"remembered,omitempty"`
}

// decides reports whether two decisions are on the same call and of the same kind. A call may need an approval and then a result.
func (d Decision) decides(e Decision) bool {
	return d.Key == e.Key && (d.Result == nil) == (e.Result == nil)
}

// again compares two decisions on the same call and of the same kind. It returns nil if e says the same as d, and [ErrDecided] if not. An
// approval or a denial says the same only if the person, the machine and the reason are the same, too.
func (d Decision) again(e Decision) error {
	same := d.Approve == e.Approve && d.Reason == e.Reason && d.Actor == e.Actor
	if d.Result != nil {
		same = d.Result.hash() == e.Result.hash()
	}
	if !same {
		return ErrDecided
	}
	return nil
}

// earlier returns the decision of the same kind that the agent has on the call of d; nil if there is none.
func (s *State) earlier(d Decision) *Decision {
	return first(s.Decisions, func(e *Decision) bool { return d.decides(*e) })
}

func (d Decision) decider() *Decider {
	return &Decider{Denied: d.Result == nil && !d.Approve, Actor: d.Actor, Time: d.Time}
}

// These errors say why a decision is refused: see [State.AcceptsDecision].
var (
	// ErrNoCall means that the agent has no open call with the key of the decision. The call has never existed, has its result or gets one
	// without a decision (see [Call].Stopped), or has other arguments than those that the person saw.
	ErrNoCall = errors.New("no open call has this key: the call never existed, was stopped, has its result already, or has other arguments than those that were shown; list the calls again")
	// ErrNotAsked means that the decision is an approval or a denial, and the call waits for neither.
	ErrNotAsked = errors.New("the call waits for no approval; list the calls that wait")
	// ErrNotExternal means that the call does not wait for a result from outside. The result comes from the tool or from a sub-agent, or
	// the call waits for an approval first.
	ErrNotExternal = errors.New("the call does not wait for a result from outside; list the calls that wait")
	// ErrDecided means that a decision or a result has settled the call before.
	ErrDecided = errors.New("the call was decided before, and the earlier decision stands")
	// ErrText means that the decision on a text has arguments or is to be remembered.
	ErrText = errors.New("a decision on a text allows or refuses it as it is; leave out the arguments, and do not remember the decision")
	// ErrWaits means that the agent does not have the call's result from outside yet, and still takes it: see [State.ResultGiven].
	ErrWaits = errors.New("the call waits for its result from outside; give the result")
)

const (
	maxReasonBytes    = 4000
	maxArgumentsBytes = 1_000_000
	// MaxGivenBytes is the largest size of a result from outside, in bytes. In JSON, each "<" takes six bytes, and Temporal refuses a
	// payload of more than 2 MB.
	MaxGivenBytes = 300_000
)

// Check returns an error if no agent would accept the decision, because a field is invalid or two fields contradict each other. For
// example, a result must be UTF-8: the history has JSON, which cannot keep other bytes.
func (d Decision) Check() error {
	switch {
	case CheckCall(d.Key) != nil && !isKey(d.Key, KindText):
		return fmt.Errorf("decision: %w", CheckCall(d.Key))
	case len(d.Reason) > maxReasonBytes:
		return fmt.Errorf("decision: the reason has %d bytes; the limit is %d: shorten the reason", len(d.Reason), maxReasonBytes)
	case len(d.Arguments) > maxArgumentsBytes:
		return fmt.Errorf("decision: the arguments have %d bytes; the limit is %d: shorten the arguments", len(d.Arguments), maxArgumentsBytes)
	case len(d.Message) > MaxIDBytes || strings.ContainsFunc(d.Message, unicode.IsSpace):
		return fmt.Errorf("decision: the field \"message\" must be the ID of a message, which has at most %d bytes and no white space", MaxIDBytes)
	case checkActor("decision", d.Actor) != nil:
		return checkActor("decision", d.Actor)
	case d.Arguments != "" && !d.Approve:
		return errors.New("decision: a denial cannot have arguments; leave them out")
	case d.Result != nil && (d.Approve || d.Reason != ""):
		return errors.New("decision: a result cannot have an approval or a reason; leave them out")
	case d.Result != nil && d.Result.Hash != "":
		return errors.New("decision: the result has a hash; leave it out: only an agent sets it")
	case d.Result != nil && len(d.Result.Content) > MaxGivenBytes:
		return fmt.Errorf("decision: the result has %d bytes; the limit is %d: shorten the result", len(d.Result.Content), MaxGivenBytes)
	case d.Result != nil && !utf8.ValidString(d.Result.Content):
		return errors.New("decision: the result is not UTF-8; encode it as UTF-8")
	case d.Remember != "" && (!d.Approve || d.Arguments != ""):
		return errors.New("decision: only an approval without new arguments can be remembered; leave out remember, or approve the call without arguments")
	case d.Remember != "" && d.Remember != RememberTool && d.Remember != RememberCall:
		return fmt.Errorf("decision: remember is %.64q; it must be %q or %q", d.Remember, RememberTool, RememberCall)
	case d.Arguments != "" && !unambiguousObject(d.Arguments):
		return errors.New("decision: the arguments are not a JSON object that all parsers read alike; give one object of valid UTF-8 in which no two members have the same name")
	}
	return nil
}

// AcceptsDecision returns an error if the agent does not accept the decision now. The error is one of [ErrEnded], [ErrNoCall],
// [ErrNotAsked], [ErrNotExternal], [ErrText] and [ErrDecided]. The decision must be valid: see [Decision.Check].
func (s *State) AcceptsDecision(d Decision) error {
	if s.Outcome != nil {
		return ErrEnded
	}
	if s.earlier(d) != nil {
		return ErrDecided
	}
	c := s.call(d.Key)
	switch {
	case d.Result == nil && s.askedText(d.Key) != nil:
		if d.Arguments != "" || d.Remember != "" {
			return ErrText
		}
		return nil
	case d.Result != nil && s.awaitsLate(d.Key):
		return nil
	case c == nil || c.Result != nil || c.Stopped != nil:
		return ErrNoCall
	case c.waitsFor(d):
		return nil
	case d.Result != nil:
		return ErrNotExternal
	}
	return ErrNotAsked
}

// HasResult reports whether the call with the given key has its result, or gets one without a decision: see [Call].Stopped. It returns
// false if the message with the result was dropped: see [State.Drop].
func (s *State) HasResult(key Key) bool {
	if c := s.call(key); c != nil {
		return c.Result != nil || c.Stopped != nil
	}
	return s.resultIndex(key) >= 0
}

const (
	// maxDecisions is the number of decisions at which a further decision removes the oldest one that was applied. Until then, such a
	// decision stays in the state, because Temporal may deliver it again.
	maxDecisions = 1000
	// maxUnused is the number of decisions at which a further decision removes the oldest one, if none was applied. A decision that was
	// not applied may have come before its call. After a reset, Temporal delivers all earlier decisions at once, and a search finds those
	// of other runs.
	maxUnused = 10_000
)

// applyEarlier applies a decision that came before the call began to wait for it.
func (s *State) applyEarlier(c *Call, now int64) {
	i := slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Key == c.Key && !d.Used && c.waitsFor(d) })
	if i >= 0 {
		s.decide(c, s.use(i), now)
	}
}

// ResultGiven returns nil if the agent has received exactly the result in the decision d for the call, even if the agent has not applied
// it yet. The other results are:
//
//   - [ErrDecided] if the call has another result. The other result may be from outside, or say that a time limit or a person has ended
//     the wait.
//   - [ErrWaits] if the call waits for its result, or was left unanswered while it waited.
//   - [ErrNotExternal] if the call is open and does not wait for a result from outside, for example because it waits for an approval
//     first.
//   - [ErrNoCall] if the state has no call with this key.
func (s *State) ResultGiven(d Decision) error {
	if earlier := s.earlier(d); earlier != nil {
		return earlier.again(d)
	}
	switch c := s.call(d.Key); {
	case c != nil && c.Result != nil:
		return ErrDecided
	case c != nil && c.external(), c == nil && s.awaitsLate(d.Key):
		return ErrWaits
	case c != nil:
		return ErrNotExternal
	case slices.ContainsFunc(s.Messages, func(m Message) bool { return m.Key == d.Key }):
		return ErrDecided
	}
	return ErrNoCall
}

// use marks the decision with the given index as applied, and returns it. The transcript gets a result from outside, so the copy in
// the state has only a hash of it.
func (s *State) use(i int) Decision {
	d := s.Decisions[i]
	s.Decisions[i].Used = true
	if d.Result != nil {
		s.Decisions[i].Result = &GivenResult{Hash: d.Result.hash()}
	}
	return d
}

// apply stores a decision in the state. If the call waits for the decision, it is also given to the call, unless the agent has no
// definition or the driver has to ask other runs about the call first. If the state already has a decision of the same kind for the call,
// apply changes nothing and returns false.
func (e Decided) apply(s *State) bool {
	if s.earlier(e.Decision) != nil {
		return false
	}
	s.makeRoom()
	e.Decision.Used, e.Decision.Time = false, cmp.Or(e.Decision.Time, e.Time)
	e.Decision.Early = e.Decision.Early || s.unsearched()
	s.Decisions = append(s.Decisions, e.Decision)
	if e.Decision.Message != "" {
		see(&s.SeenMessageIDs, e.Decision.Message)
	}
	if s.Definition == nil || e.Decision.Early {
		return true // the new definition may change the call's tool, and another run may have a decision: see settle
	}
	if t := s.askedText(e.Decision.Key); t != nil && e.Decision.Result == nil {
		s.judgeByPerson(t, len(s.Decisions)-1, e.Time)
		return true
	}
	switch c := s.call(e.Decision.Key); {
	case c == nil || !c.waitsFor(e.Decision):
		s.giveLate(len(s.Decisions)-1, e.Time)
	case !c.Search: // during the search, see applyMeanwhile
		s.decide(c, s.use(len(s.Decisions)-1), e.Time)
		s.restartTurn(e.Time)
		s.advanceTranscript(e.Time)
	}
	return true
}

// restartTurn lets the time limit of the turn begin again, because the time in which the agent waited for somebody outside does not
// count. It does nothing while another call waits, or while the turn is held.
func (s *State) restartTurn(now int64) {
	if !s.waitsOutside() && s.Hold == nil {
		s.Turn.Began = now
	}
}

// makeRoom removes a decision if there are too many: see [maxDecisions] and [maxUnused]. One that was applied goes first, because the
// agent may still need the others: their calls may not exist yet.
func (s *State) makeRoom() {
	if len(s.Decisions) < maxDecisions {
		return
	}
	i := slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Used })
	if i >= 0 || len(s.Decisions) >= maxUnused {
		s.Decisions = slices.Delete(s.Decisions, max(i, 0), max(i, 0)+1)
	}
}

// Unsettled reports whether the driver still has to ask other runs about the call of the decision d. An earlier decision or a result that
// another run has replaces d.
func (s *State) Unsettled(d Decision) bool {
	c := s.call(d.Key)
	return s.unsearched() || c != nil && c.Search && c.Result == nil
}

// Keeps reports whether the agent has kept the decision. If not, an earlier decision of another run, or what became of the call there, has
// replaced it.
func (s *State) Keeps(d Decision) bool {
	kept := s.earlier(d)
	return kept != nil && kept.again(d) == nil
}

// awaitsLate reports whether an external call in the transcript is unanswered, so that its real result from outside may still come.
func (s *State) awaitsLate(key Key) bool {
	return slices.ContainsFunc(s.Unanswered, func(c Call) bool { return c.Key == key && c.handed() })
}

// giveLate applies the decision with the given index if it is the result of an external call that is unanswered: see [LateResult].
func (s *State) giveLate(i int, now int64) {
	d := s.Decisions[i]
	if d.Result == nil || d.Used || !s.awaitsLate(d.Key) {
		return
	}
	if s.repairLater(nil, *s.given(d, now), func(c *Call) bool { return c.Key == d.Key && c.handed() }) {
		s.use(i)
	}
}

// waitsFor reports whether the call waits for a decision of the same kind as d.
func (c *Call) waitsFor(d Decision) bool {
	return c.Waits() && c.Stopped == nil && c.Wait.For.kind().result == (d.Result != nil)
}

// decide applies the decision d to the call c, which has waited for it:
//
//   - An approval lets the call run.
//   - A denial becomes the result of the call.
//   - The answer to a tool's question lets the call run again, with the answer: see [Elicitation].
//   - Any other result from outside becomes the result of the call.
//
// Guardrails judge the answer of a person first.
func (s *State) decide(c *Call, d Decision, now int64) {
	c.waited() // the person has seen it wait, if not in this run, then before a reset
	if !s.withholdsAnswer(c, d) {
		s.giveAnswer(c, d, now)
	}
}

func (s *State) giveAnswer(c *Call, d Decision, now int64) {
	c.Wait = CallWait{}
	switch {
	case d.Result != nil && c.elicits():
		c.Decider = cmp.Or(c.Decider, d.decider()) // whoever has approved the call stays
		s.answerElicitation(c, *d.Result)
	case d.Result != nil:
		c.Decider, c.Result = d.decider(), s.given(d, now)
	case !d.Approve:
		c.Decider, c.Result = d.decider(), &Result{Content: textDenied(d.Reason), Kind: Errored, Time: now}
	default:
		s.approve(c, d, now)
	}
}

// given returns the result that the decision brings from outside, cut to the size that the definition allows for a tool result.
func (s *State) given(d Decision, now int64) *Result {
	content := clip.Middle(d.Result.Content, s.Definition.Limits.resultBytes())
	return &Result{Content: content, Kind: KindOf(d.Result.IsError), Time: now}
}

// approve lets the call run, with the arguments of the person if the decision has some.
func (s *State) approve(c *Call, d Decision, now int64) {
	c.Decider = d.decider()
	s.remember(c, d) // before the arguments change
	if d.Arguments != "" && d.Arguments != c.Arguments {
		c.Arguments, c.Edited = d.Arguments, true
		c.Key = s.ToolKey(c.Model, c.Position, c.Name, c.Arguments, s.callerReference())
	}
	tool, _ := s.Definition.Tool(c.Name)
	s.begin(c, tool, s.slice(1), now) // a sub-agent is created only now, because it gets the approved arguments
}
