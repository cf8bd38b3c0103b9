package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

// law checks the rules that hold for every agent after every event. It records what it has seen, and it does not use
// the internals of the core.
type law struct {
	messages []agent.Message // the transcript, which only grows
	chain    string          // transcript hash of what is sent
	sent     int             // number of messages in chain

	summaries int
	paid      agent.Key             // the model call that is in flight
	accepted  []agent.QueuedMessage // from people, in order
	asked     map[agent.Key]bool    // calls that were pending at any time, and whether they still are
	answered  map[agent.Key]bool    // model calls that have a reply
	heard     map[agent.Key]string  // a text about the end of each ended sub-agent, which the model must get
	places    map[agent.Key]place   // of the calls on which a person has decided
	words     map[place]agent.Decision
	tools     map[agent.Key]string // of the calls on which a person has decided
	permitted map[agent.Key]bool   // calls whose decision permits later calls
	end       *agent.Outcome
	spent     agent.Spending
	texts     map[agent.Key]agent.CheckText // that guardrails have judged or judge
	judged    map[agent.Key]bool            // checks that have a verdict
	refused   []string                      // texts that a guardrail or a person has refused
	refusals  int
	reloaded  agent.Key            // the model call that was next when the definition was read again
	allowed   agent.Key            // the model call whose overrides were checked last
	ran       bool                 // the turn ran
	spans     map[string]bool      // of turns that have ended or were stopped
	callers   map[agent.Key]string // for whom each call was asked, by its key
	listed    []conversation.Event // the list of events
	dropped   int                  // messages before the list
	grown     [2]int               // the numbers of messages and of waits when the list was made
}

// place identifies a call even if its arguments, and with them its key, are changed.
type place struct {
	model    agent.Key
	position int
}

// broken is the panic value that reports a broken rule.
type broken string

func (*law) brokenf(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

func newLaw(s *agent.State) *law {
	return &law{
		accepted: slices.Clone(s.Queue), asked: map[agent.Key]bool{}, answered: map[agent.Key]bool{}, heard: map[agent.Key]string{},
		places: map[agent.Key]place{}, words: map[place]agent.Decision{}, tools: map[agent.Key]string{}, permitted: map[agent.Key]bool{},
		texts: map[agent.Key]agent.CheckText{}, judged: map[agent.Key]bool{}, spans: map[string]bool{}, callers: map[agent.Key]string{},
	}
}

// knows checks that the metadata of the agent is that of its start and of the messages of its turn, and of no other message.
func (w *law) knows(s *agent.State) {
	if s.Dropped > 0 {
		return
	}
	want, answered := agent.Metadata{}, false
	for _, m := range s.Messages {
		if answered && !m.Notice {
			want = agent.Metadata{}
		}
		answered = m.Role == llm.Assistant && len(m.ToolCalls) == 0
		if m.Role == llm.User && m.Key != "" && !m.BringsLateResult() {
			delete(want, agent.CallerReference)
		}
		maps.Copy(want, m.Metadata)
	}
	if got := s.CurrentMetadata(); !maps.Equal(got, s.Metadata.With(want)) {
		w.brokenf("the metadata is %v, and the messages of the turn have %v, and the start %v", got, want, s.Metadata)
	}
}

// actsForOne checks that no call that was asked for one caller is made for another one, also after a reset.
func (w *law) actsForOne(s *agent.State) {
	caller := s.CurrentMetadata()[agent.CallerReference]
	for _, c := range s.Pending() {
		if was, known := w.callers[c.Key]; known && was != caller {
			w.brokenf("call %s was asked for caller %q, and is made for %q", c.Key, was, caller)
		}
		w.callers[c.Key] = caller
		if child, ok := s.Child(c.Child); ok && !strings.Contains(c.Arguments, "continue") && child.Caller != caller {
			w.brokenf("call %s for caller %q waits for the sub-agent of %q", c.Key, caller, child.Caller)
		}
	}
}

// lists checks that the list of events only grows, and that each call that waits for somebody is in it.
func (w *law) lists(s *agent.State) {
	grown := [2]int{s.Count()}
	for _, c := range s.Calls {
		grown[1] += len(c.Waited)
	}
	if grown == w.grown && s.Dropped == w.dropped {
		return
	}
	w.grown = grown
	if s.Dropped != w.dropped {
		w.listed = slices.DeleteFunc(w.listed, func(e conversation.Event) bool { return e.Position.Message < s.Dropped })
		w.dropped = s.Dropped
	}
	list := conversation.Of(s.Dropped, s.Messages, s.Calls)
	if len(list) < len(w.listed) {
		w.brokenf("the list of events has become shorter: %d events, and %d before", len(list), len(w.listed))
	}
	last := conversation.Position{Message: -1}
	for i, e := range list {
		if e.Position.Compare(last) <= 0 {
			w.brokenf("event %v comes after event %v", e.Position, last)
		}
		last = e.Position
		if i < len(w.listed) {
			was := w.listed[i]
			if was.Message = e.Message; was != e {
				w.brokenf("event %v was %v", e, was)
			}
		}
	}
	w.listed = list
	for _, c := range s.Calls {
		if c.Waits() && !c.Search && !slices.ContainsFunc(list, func(e conversation.Event) bool {
			return e.Kind == conversation.Waits && e.Wait.Key == c.Key && e.Wait.For == c.Wait.For
		}) && s.Searched == s.Reset {
			w.brokenf("call %s waits, and the list of events does not say so", c.Key)
		}
	}
}

// traces checks that each turn, and each part of one between two holds, resets or resumes, has a span of its own.
func (w *law) traces(s *agent.State) {
	ran, span := w.ran, s.TurnSpan().SpanID
	if w.ran = s.TurnRuns(); !ran || w.ran {
		return
	}
	if w.spans[span] {
		w.brokenf("the span %s of turn %d has ended twice", span, s.Turn.Number)
	}
	w.spans[span] = true
}

// hold checks a state after an event.
func (w *law) hold(s *agent.State, e agent.Event, changed bool) {
	switch e := e.(type) {
	case agent.MessageReceived:
		if changed {
			w.accepted = append(w.accepted, s.Queue[len(s.Queue)-1]) // after an interrupt, it becomes a steering message
		}
		if w.paid != "" && !asks(s, w.paid) {
			w.brokenf("a message makes the reply to %s void, which is paid for", w.paid)
		}
	case agent.ModelAsked:
		if changed {
			w.paid = e.Key
			return
		}
	case agent.ModelReplied:
		if changed {
			w.answered[e.Key] = true
			w.remembers(s)
		}
	case agent.ChildFinished:
		if child, _ := s.Child(e.Key); child.Attachment == agent.ChildCancelling && e.Result.Kind.IsError() {
			break // the model knows that an interrupt has stopped the sub-agent
		}
		if changed {
			w.heard[e.Key] = e.Result.Content
			if e.Result.Kind.IsError() { // the answer of the resumed sub-agent may replace this result
				w.heard[e.Key] = string(e.Key)
			}
		}
	case agent.Decided:
		if changed {
			w.decided(e.Decision)
		}
	case agent.CallFound:
		for _, d := range s.Decisions { // what another run did replaces a decision of this run that was not applied
			if changed && d.Key == e.Key {
				w.decided(d)
			}
		}
	case agent.MessagesFound:
		for _, d := range s.Decisions { // a decision of another run replaces one of this run that was not applied
			if changed {
				w.decided(d)
			}
		}
		for _, key := range s.Revoked {
			w.permitted[key] = false
		}
	case agent.PermissionRevoked:
		w.permitted[e.Key] = false
		if slices.ContainsFunc(s.Permissions, func(p agent.Permission) bool { return p.Key == e.Key }) {
			w.brokenf("permission %s was revoked, and the agent has it", e.Key) // if it has ended, a resume would use it
		}
	case agent.ReloadAsked:
		if !changed && !slices.Contains(s.SeenReloadIDs, e.ID) {
			w.brokenf("reload %s was asked for, and the agent does not know", e.ID)
		}
	case agent.Resumed:
		w.end = nil
	}
	if !asks(s, w.paid) {
		w.paid = "" // it was answered, or its turn was ended
	}
	w.traces(s)
	w.guards(s, e, changed)
	w.knows(s)
	w.actsForOne(s)
	w.lists(s)
	if n := len(s.Compactions); n != w.summaries {
		w.chain, w.sent, w.summaries = "", 0, n
	}
	step := s.Next()
	w.grows(s)
	w.chained(s)
	w.paired(s.Messages, len(s.Calls) > 0)
	w.asksOnce(s, step)
	w.asksPeople(s)
	w.losesNothing(s)
	w.owes(s)
	w.overrides(s, step)
	w.keepsOrder(s)
	w.staysEnded(s, step)
	w.sendsWhatIsValid(s, step)
	w.budgets(s, e, step)
}

// judges checks that each text is judged once by each guardrail.
func (w *law) judges(step agent.CheckText) {
	if w.judged[step.Key] {
		w.brokenf("the guardrail %s judges %q again", step.Guardrail, step.Text)
	}
}

// guards checks that no text that was refused is in the transcript, in a request or in an answer, and that what guardrails still judge is
// not there either.
func (w *law) guards(s *agent.State, e agent.Event, changed bool) {
	if e, ok := e.(agent.TextChecked); ok && changed {
		w.judged[e.Key] = true
	}
	for ; w.refusals < len(s.Refused); w.refusals++ { // no life has so many that the oldest are removed
		r := s.Refused[w.refusals]
		for _, judged := range w.texts {
			if judged.Of == r.Of {
				w.refused = append(w.refused, judged.Text)
			}
		}
		w.accepted = slices.DeleteFunc(w.accepted, func(m agent.QueuedMessage) bool { return r.Kind == agent.TextMessage && agent.Key(m.ID) == r.Of })
	}
	private := slices.Clone(w.refused)
	for _, t := range s.Checks {
		if t.Kind == agent.TextAnswer || t.Given != nil {
			private = append(private, t.Text)
		}
	}
	for _, text := range private {
		if strings.Contains(s.Answer(), text) || s.Outcome != nil && strings.Contains(s.Outcome.Answer+s.Outcome.Message, text) {
			w.brokenf("the text %q leaves the agent", text)
		}
		for _, m := range s.Messages {
			if strings.Contains(m.Content, text) {
				w.brokenf("the text %q is in the transcript", text)
			}
		}
	}
}

// budgets checks that what was spent never becomes less, whatever was reported, and that the agent asks for no more model calls in a turn
// when its budget is used up. It makes one more call after it has read its definition again, which may have other limits.
func (w *law) budgets(s *agent.State, e agent.Event, step agent.Step) {
	spent := s.Spent()
	for _, n := range [][2]int{
		{spent.InputTokens, w.spent.InputTokens}, {spent.OutputTokens, w.spent.OutputTokens}, {spent.CachedTokens, w.spent.CachedTokens},
		{spent.CacheWriteTokens, w.spent.CacheWriteTokens}, {spent.ReasoningTokens, w.spent.ReasoningTokens}, {int(spent.Cost), int(w.spent.Cost)},
	} {
		if n[0] < n[1] {
			w.brokenf("the agent has spent %+v after %+v", spent, w.spent)
		}
	}
	w.spent = spent
	var key agent.Key
	switch step := step.(type) {
	case agent.CallModel:
		key = step.Key
	case agent.Compact:
		key = step.Key
	}
	if _, loaded := e.(agent.DefinitionLoaded); loaded {
		w.reloaded = key
	}
	if key == "" || key == w.reloaded || key == s.InFlight {
		return
	}
	if limits := s.Definition.Limits; limits.Tokens > 0 && spent.Tokens() >= limits.Tokens || limits.Cost > 0 && spent.Cost >= limits.Cost {
		w.brokenf("the agent asks for %s, and has spent %d tokens and %s; its limits are %d and %s", key, spent.Tokens(), spent.Cost, limits.Tokens, limits.Cost)
	}
}

// decided records a person's decision on a call.
func (w *law) decided(d agent.Decision) {
	if at, known := w.places[d.Key]; known && d.Result == nil {
		w.words[at] = d
		w.permitted[d.Key] = d.Remember != ""
	}
}

// asks reports whether the next step is the model call with that key.
func asks(s *agent.State, key agent.Key) bool {
	step, ok := s.Next().(agent.CallModel)
	return ok && step.Key == key
}

// grows checks that messages are only appended to the transcript, and never changed.
func (w *law) grows(s *agent.State) {
	if len(s.Messages) < len(w.messages) {
		w.brokenf("the transcript has %d messages after %d", len(s.Messages), len(w.messages))
	}
	for i, m := range w.messages {
		if s.Messages[i].Key != m.Key || s.Messages[i].Content != m.Content || s.Messages[i].Time != m.Time {
			w.brokenf("message %d was changed from %+v to %+v", i, m, s.Messages[i])
		}
	}
}

// chained checks that the transcript hash is the hash of the messages that the next request sends.
func (w *law) chained(s *agent.State) {
	for ; w.sent < s.SentCount(); w.sent++ {
		w.chain = agent.HashMessages(w.chain, s.Sent(w.sent))
	}
	if s.TranscriptHash != w.chain {
		w.brokenf("the chain over what is sent is %s, not %s", s.TranscriptHash, w.chain)
	}
	w.messages = append(w.messages, s.Messages[len(w.messages):]...)
}

// paired checks that the results of an assistant message's calls follow directly after it, one for each call, in the same order,
// and that there are no other results. The last message must have calls without results if the agent has open calls (open), and
// must have none otherwise.
func (w *law) paired(messages []agent.Message, open bool) {
	var want []llm.ToolCall
	for i, m := range messages {
		switch {
		case m.Role == llm.Tool && (len(want) == 0 || want[0].ID != m.ToolCallID):
			w.brokenf("message %d is the result of %q, of which nobody asked there", i, m.ToolCallID)
		case m.Role == llm.Tool:
			want = want[1:]
		case len(want) > 0:
			w.brokenf("message %d stands before the result of %q", i, want[0].ID)
		default:
			want = m.ToolCalls
		}
	}
	if open != (len(want) > 0) {
		w.brokenf("%d calls have no result; open is %v", len(want), open)
	}
}

// asksOnce checks that the agent never asks again for a tool call or a model call that has a result.
func (w *law) asksOnce(s *agent.State, step agent.Step) {
	open := map[agent.Key]bool{}
	for _, c := range s.Pending() {
		if still, known := w.asked[c.Key]; known && !still && c.Stopped == nil {
			w.brokenf("call %s is asked for again", c.Key)
		}
		if open[c.Key] {
			w.brokenf("two calls share the key %s", c.Key)
		}
		open[c.Key] = true
	}
	for key := range w.asked {
		w.asked[key] = open[key]
	}
	maps.Copy(w.asked, open)
	if step, ok := step.(agent.CallModel); ok {
		if len(open) > 0 || len(s.Calls) > 0 {
			w.brokenf("the model is called with open calls")
		}
		if w.answered[step.Key] {
			w.brokenf("request %s is made again", step.Key)
		}
	}
}

// asksPeople checks that a call that needs approval waits for a decision, and runs as the person decided. A call runs without a
// decision of its own only if a person has permitted it, and has not revoked this. It also checks that no external call runs.
func (w *law) asksPeople(s *agent.State) {
	if s.Definition == nil {
		return // a decision that comes while the definition is read again is applied when the definition is there
	}
	if s.Reset != s.Searched {
		return // another run may have a decision on each call, so nothing is applied, and nothing begins
	}
	for _, c := range s.Pending() {
		if c.Search || c.Stopped != nil {
			continue // other runs are asked first
		}
		word, said := w.words[place{c.Model, c.Position}]
		needed := c.Name == "pay" || c.Name == "lawyer" || c.Name == "wire"
		asked, outside := c.Wait.For == agent.WaitsForApproval, c.Name == "deploy" || c.Name == "wire" || c.Name == agent.AskUser
		if outside && !c.Waits() && !c.Judged {
			w.brokenf("call %s of %s may run here", c.Key, c.Name)
		}
		switch {
		case needed && !said && c.Decider != nil && c.Decider.Remembered:
		case needed && said && c.Decider != nil && c.Decider.Remembered && word.Key != "" && !word.Used:
			w.brokenf("call %s runs by a permission, and there is a decision on it", c.Key)
		case needed && said == asked, needed && said && !word.Approve:
			w.brokenf("call %s waits for %q; the word on it is %+v", c.Key, c.Wait.For, word)
		case word.Arguments != "" && c.Arguments != word.Arguments:
			w.brokenf("call %s has the arguments %s; approved were %s", c.Key, c.Arguments, word.Arguments)
		}
		if child, waits := s.Child(c.Child); waits && c.Name == "lawyer" && !strings.Contains(c.Arguments, fmt.Sprintf("%q", child.Task)) && !strings.Contains(c.Arguments, "continue") {
			w.brokenf("call %s with %s waits for a sub-agent that does %q", c.Key, c.Arguments, child.Task)
		}
	}
}

// remembers checks that a new call runs without a decision of its own only if a person has permitted calls of its tool, and has not
// revoked the permission.
func (w *law) remembers(s *agent.State) {
	for _, c := range s.Pending() {
		permits := func(key agent.Key) bool { return w.permitted[key] && w.tools[key] == c.Name }
		if c.Decider != nil && c.Decider.Remembered && !slices.ContainsFunc(slices.Collect(maps.Keys(w.permitted)), permits) {
			w.brokenf("call %s of %s runs, and nobody has permitted it", c.Key, c.Name)
		}
	}
}

// losesNothing checks that every accepted message is in the queue or in the transcript, exactly once, and that the
// result of each sub-agent is there, too.
func (w *law) losesNothing(s *agent.State) {
	found := map[agent.Key]int{}
	for _, m := range s.Messages {
		if m.Role == llm.User {
			found[m.Key]++
		}
	}
	for _, m := range s.Queue {
		found[agent.Key(m.ID)]++
	}
	for key, n := range found {
		if n > 1 {
			w.brokenf("message %s is there %d times", key, n)
		}
	}
	for _, m := range w.accepted {
		if found[agent.Key(m.ID)] != 1 {
			w.brokenf("message %s is lost", m.ID)
		}
		if s.HasOther(m) {
			w.brokenf("the agent has another message than %s", m.ID)
		}
		other := m
		other.Text += " and more"
		if queued := slices.ContainsFunc(s.Queue, func(q agent.QueuedMessage) bool { return q.ID == m.ID }); queued && !s.HasOther(other) {
			w.brokenf("another message has the ID %s, and the agent does not see it", m.ID)
		}
	}
	for _, text := range w.heard {
		if !tells(s, text) {
			w.brokenf("the result %q is lost", text)
		}
	}
}

// tells reports whether a message, a result, or an answer to the question of a tool contains the text.
func tells(s *agent.State, text string) bool {
	return slices.ContainsFunc(s.Messages, func(m agent.Message) bool { return strings.Contains(m.Content, text) }) ||
		slices.ContainsFunc(s.Calls, func(c agent.Call) bool {
			e := c.Elicitation
			return c.Result != nil && strings.Contains(c.Result.Content, text) || c.Stopped != nil && strings.Contains(c.Stopped.Content, text) || e != nil && e.Answer != nil && strings.Contains(e.Answer.Content, text)
		}) ||
		slices.ContainsFunc(s.Checks, func(t agent.TextCheck) bool { return strings.Contains(t.Text, text) }) ||
		slices.ContainsFunc(s.Queue, func(m agent.QueuedMessage) bool { return strings.Contains(m.Text, text) })
}

// owes checks that the agent owes an answer to exactly the messages that wait, and to those in the transcript that no answer follows.
func (w *law) owes(s *agent.State) {
	open, corrected := true, false // open: no answer follows
	for _, m := range slices.Backward(s.Messages) {
		open = open && (m.Role != llm.Assistant || len(m.ToolCalls) > 0 || corrected)
		corrected = m.Role == llm.User && m.Notice
		if m.Role == llm.User && m.Key != "" && !m.BringsLateResult() && s.Owes(string(m.Key)) != open {
			w.brokenf("it is %t that the agent owes an answer to message %s", !open, m.Key)
		}
	}
	for _, m := range s.Queue {
		if m.Late == nil && !s.Owes(m.ID) {
			w.brokenf("message %s waits, and the agent owes no answer to it", m.ID)
		}
	}
	if s.Owes("stray") {
		w.brokenf("the agent owes an answer to a message that it has not received")
	}
}

// keepsOrder checks that steering messages are taken in the order in which they came, and that the other messages are
// taken in the order in which they came. A message that is not a steering message is taken only when the turn has
// ended.
func (w *law) keepsOrder(s *agent.State) {
	steers := map[agent.Key]bool{}
	var want, got [2][]agent.Key
	kind := func(key agent.Key) int {
		if steers[key] {
			return 1
		}
		return 0
	}
	for _, m := range w.accepted {
		key := agent.Key(m.ID)
		steers[key] = m.Steer
		want[kind(key)] = append(want[kind(key)], key)
	}
	for i, m := range s.Messages {
		if _, person := steers[m.Key]; m.Role != llm.User || !person {
			continue
		}
		got[kind(m.Key)] = append(got[kind(m.Key)], m.Key)
		if before := i - 1; !steers[m.Key] && i > 0 && (s.Messages[before].Role != llm.Assistant || len(s.Messages[before].ToolCalls) > 0) {
			w.brokenf("message %s entered a turn that was not its own", m.Key)
		}
	}
	for kind := range want {
		if !slices.Equal(got[kind], want[kind][:len(got[kind])]) {
			w.brokenf("messages came as %v and were taken as %v", want[kind], got[kind])
		}
	}
}

// staysEnded checks that the outcome of an ended agent does not change until the agent is resumed.
func (w *law) staysEnded(s *agent.State, step agent.Step) {
	if w.end != nil && !reflect.DeepEqual(step, agent.Finish{Outcome: *w.end}) {
		w.brokenf("it had ended: %+v; now %+v", *w.end, step)
	}
	if s.Outcome != nil {
		end := *s.Outcome
		w.end = &end
	}
}

// sendsWhatIsValid checks that an endpoint would accept every request.
func (w *law) sendsWhatIsValid(s *agent.State, step agent.Step) {
	if len(s.Calls) > 0 {
		return // nothing would be sent
	}
	from := 0
	if n := len(s.Compactions); n > 0 {
		from = s.Compactions[n-1].From
	}
	w.paired(s.Messages[from:], false)
	call, ok := step.(agent.CallModel)
	if !ok {
		return
	}
	if call.Count != s.SentCount() || call.Count == 0 {
		w.brokenf("a request of %d messages, of which there are %d", call.Count, s.SentCount())
	}
	for i := range s.SentCount() {
		m := s.Sent(i)
		if m.Role == llm.Tool && m.Content == "" {
			w.brokenf("an empty result is sent")
		}
		ids := map[string]bool{}
		for _, c := range m.ToolCalls {
			if c.Arguments != "" && !json.Valid([]byte(c.Arguments)) {
				w.brokenf("the arguments %q are sent", c.Arguments)
			}
			if c.ID == "" || ids[c.ID] {
				w.brokenf("calls share the ID %q", c.ID)
			}
			ids[c.ID] = true
		}
	}
}

// unchanged applies an event a second time and checks that it changes nothing but the count of repeated events.
func (w *law) unchanged(s *agent.State, e agent.Event) {
	before, count, def := encode(s), s.Usage.DuplicateEvents, s.Definition
	changed := s.Apply(e)
	s.Usage.DuplicateEvents = count
	if changed || s.Definition != def || !bytes.Equal(before, encode(s)) {
		w.brokenf("a second time, this changes something: %#v", e)
	}
}

// encode returns the JSON of a state without its definition.
func encode(s *agent.State) []byte {
	lean := *s
	lean.Definition = nil
	text, _ := json.Marshal(lean)
	return text
}

// same checks that a state does not change when it is written to JSON and read again.
func (w *law) same(s, again *agent.State) {
	if !reflect.DeepEqual(s.Next(), again.Next()) {
		w.brokenf("after a restart the next step is %#v, not %#v", again.Next(), s.Next())
	}
	if once := clone(again); !reflect.DeepEqual(once, clone(once)) {
		w.brokenf("a second restart changes the state")
	}
}

// rests checks an agent that has nothing to do. Every call has a result, and no message waits, unless the agent is held
// or has ended. If the agent can be forked after half of its messages or after all of them, every call in the fork has
// a result. The fork repeats no request, and its time limit begins with the fork.
func (w *law) rests(s *agent.State) {
	if len(s.Calls) > 0 && (s.Outcome == nil || s.Outcome.Status != agent.Cancelled) { // a resume goes on with the calls of a cancelled agent
		w.brokenf("the agent rests with open calls")
	}
	if s.Outcome == nil && s.Hold == nil && len(s.Queue) > 0 {
		w.brokenf("the agent rests and %d messages wait", len(s.Queue))
	}
	const forked = 1 << 40 // a later time
	for _, n := range []int{len(s.Messages) / 2, len(s.Messages)} {
		fork, err := s.Fork(agent.Identity{KeyVersion: agent.KeyVersion, AgentID: "b", Incarnation: "k"}, agent.Chat, n, forked)
		if err != nil {
			continue
		}
		w.paired(fork.Messages, false)
		w.knows(fork)
		if d := fork.Deadline(); d != 0 && d <= forked {
			w.brokenf("a fork that begins at %d has time until %d", forked, d)
		}
		if step, ok := fork.Next().(agent.CallModel); ok && w.answered[step.Key] {
			w.brokenf("a fork repeats request %s", step.Key)
		}
	}
}
