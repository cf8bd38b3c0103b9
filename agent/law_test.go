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
	"github.com/reagent-dev/reagent/llm"
)

// law is what holds in every life, at every moment. It remembers what it has seen and knows nothing
// of how the core comes to it.
type law struct {
	messages []agent.Message // the transcript, which only grows
	chain    string          // over what is sent
	sent     int             // messages under chain

	summaries int
	paid      agent.Key            // a request that is under way
	accepted  []agent.InboxMessage // from people, in order
	asked     map[agent.Key]bool   // calls that have been asked for, and whether they still are
	answered  map[agent.Key]bool   // requests that have a reply
	heard     map[agent.Key]string // what has to be told of sub-agents whose end was taken
	places    map[agent.Key]place  // of the calls on which somebody had a word
	words     map[place]agent.Decision
	end       *agent.Outcome
}

// place is what stays of a call when its arguments are edited.
type place struct {
	model    agent.Key
	position int
}

// broken ends a life.
type broken string

func (*law) brokenf(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

func newLaw(s *agent.State) *law {
	return &law{
		accepted: slices.Clone(s.Inbox), asked: map[agent.Key]bool{}, answered: map[agent.Key]bool{}, heard: map[agent.Key]string{},
		places: map[agent.Key]place{}, words: map[place]agent.Decision{},
	}
}

// hold looks at a state after an event.
func (w *law) hold(s *agent.State, e agent.Event, changed bool) {
	switch e := e.(type) {
	case agent.MessageReceived:
		if changed {
			w.accepted = append(w.accepted, e.Message)
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
		}
	case agent.ChildFinished:
		if changed {
			w.heard[e.Key] = e.Result.Content
			if e.Result.IsError { // the answer of one that is resumed may take its place
				w.heard[e.Key] = string(e.Key)
			}
		}
	case agent.Decided:
		if at, known := w.places[e.Decision.Key]; changed && known {
			w.words[at] = e.Decision
		}
	case agent.Resumed:
		w.end = nil
	}
	if !asks(s, w.paid) {
		w.paid = "" // it was answered, or its turn was ended
	}
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
	w.keepsOrder(s)
	w.staysEnded(s, step)
	w.sendsWhatIsValid(s, step)
}

// asks reports whether the agent waits for the reply to a request.
func asks(s *agent.State, key agent.Key) bool {
	step, ok := s.Next().(agent.CallModel)
	return ok && step.Key == key
}

// grows: the transcript is only ever appended to.
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

// chained: the hash is that of what is sent.
func (w *law) chained(s *agent.State) {
	for ; w.sent < s.SentCount(); w.sent++ {
		w.chain = agent.HashMessages(w.chain, s.Sent(w.sent))
	}
	if s.TranscriptHash != w.chain {
		w.brokenf("the chain over what is sent is %s, not %s", s.TranscriptHash, w.chain)
	}
	w.messages = append(w.messages, s.Messages[len(w.messages):]...)
}

// paired: directly after an assistant's calls stand their results, one for each, in their order, and
// nowhere else. Where open, those of the last message are still to come.
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

// asksOnce: a call or a request that was answered is never asked for again.
func (w *law) asksOnce(s *agent.State, step agent.Step) {
	open := map[agent.Key]bool{}
	for _, c := range s.Pending() {
		if still, known := w.asked[c.Key]; known && !still {
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

// asksPeople: a call that needs a person's word waits for it, and runs as the word was.
func (w *law) asksPeople(s *agent.State) {
	if s.Definition == nil {
		return // a word that comes while it is read anew counts when it is there
	}
	for _, c := range s.Pending() {
		word, said := w.words[place{c.Model, c.Position}]
		needed := c.Name == "pay" || c.Name == "lawyer"
		switch {
		case needed && said == (c.Approval == agent.Asked), needed && said && !word.Approve:
			w.brokenf("call %s is %q; the word on it is %+v", c.Key, c.Approval, word)
		case word.Arguments != "" && c.Arguments != word.Arguments:
			w.brokenf("call %s has the arguments %s; approved were %s", c.Key, c.Arguments, word.Arguments)
		}
		if child, waits := s.Child(c.Child); waits && c.Name == "lawyer" && !strings.Contains(c.Arguments, fmt.Sprintf("%q", child.Task)) && !strings.Contains(c.Arguments, "continue") {
			w.brokenf("call %s with %s waits for a sub-agent that does %q", c.Key, c.Arguments, child.Task)
		}
	}
}

// losesNothing: what was accepted is in the inbox or in the transcript, once; so is what
// came of each sub-agent.
func (w *law) losesNothing(s *agent.State) {
	found := map[agent.Key]int{}
	for _, m := range s.Messages {
		if m.Role == llm.User {
			found[m.Key]++
		}
	}
	for _, m := range s.Inbox {
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
	}
	for _, text := range w.heard {
		if !tells(s, text) {
			w.brokenf("the result %q is lost", text)
		}
	}
}

// tells reports whether a text is in a result or a message.
func tells(s *agent.State, text string) bool {
	return slices.ContainsFunc(s.Messages, func(m agent.Message) bool { return strings.Contains(m.Content, text) }) ||
		slices.ContainsFunc(s.Calls, func(c agent.Call) bool { return c.Result != nil && strings.Contains(c.Result.Content, text) }) ||
		slices.ContainsFunc(s.Inbox, func(m agent.InboxMessage) bool { return strings.Contains(m.Text, text) })
}

// keepsOrder: messages of one kind are taken in the order in which they came, and one for the next
// turn only when the turn has ended.
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

// staysEnded: an end stays as it is until the agent is resumed.
func (w *law) staysEnded(s *agent.State, step agent.Step) {
	if w.end != nil && !reflect.DeepEqual(step, agent.Finish{Outcome: *w.end}) {
		w.brokenf("it had ended: %+v; now %+v", *w.end, step)
	}
	if s.Outcome != nil {
		end := *s.Outcome
		w.end = &end
	}
}

// sendsWhatIsValid: a request is one that an endpoint takes.
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

// unchanged: an event that comes again changes nothing but a count.
func (w *law) unchanged(s *agent.State, e agent.Event) {
	before, count, def := encode(s), s.Usage.DuplicateEvents, s.Definition
	changed := s.Apply(e)
	s.Usage.DuplicateEvents = count
	if changed || s.Definition != def || !bytes.Equal(before, encode(s)) {
		w.brokenf("a second time, this changes something: %#v", e)
	}
}

// encode writes down all of a state but its definition.
func encode(s *agent.State) []byte {
	lean := *s
	lean.Definition = nil
	text, _ := json.Marshal(lean)
	return text
}

// same: a state that went through JSON is the same.
func (w *law) same(s, again *agent.State) {
	if !reflect.DeepEqual(s.Next(), again.Next()) {
		w.brokenf("after a restart the next step is %#v, not %#v", again.Next(), s.Next())
	}
	if !reflect.DeepEqual(again, clone(again)) {
		w.brokenf("a second restart changes the state")
	}
}

// rests: at rest every call has its result and, where the agent has not ended, no message waits. It can be
// forked where no call lacks its result, and the fork repeats no request and has its time before it.
func (w *law) rests(s *agent.State) {
	if len(s.Calls) > 0 {
		w.brokenf("the agent rests with open calls")
	}
	if s.Outcome == nil && s.Held == nil && len(s.Inbox) > 0 {
		w.brokenf("the agent rests and %d messages wait", len(s.Inbox))
	}
	const forked = 1 << 40 // a later time
	for _, n := range []int{len(s.Messages) / 2, len(s.Messages)} {
		fork, err := s.Fork(agent.Identity{KeyVersion: agent.KeyVersion, AgentID: "b", Incarnation: "k"}, agent.Chat, n, forked)
		if err != nil {
			continue
		}
		w.paired(fork.Messages, false)
		if d := fork.Deadline(); d != 0 && d <= forked {
			w.brokenf("a fork that begins at %d has time until %d", forked, d)
		}
		if step, ok := fork.Next().(agent.CallModel); ok && w.answered[step.Key] {
			w.brokenf("a fork repeats request %s", step.Key)
		}
	}
}
