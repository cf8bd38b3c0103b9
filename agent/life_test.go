package agent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// life simulates an agent to which events happen in a random order. It simulates the driver, the model, the tools, the
// people who write, decide and interrupt, and the runs that end and go on. The seed determines all of it.
type life struct {
	chance *rand.Rand // for notifications, which change nothing else about a life
	guard  *rand.Rand // for guardrails, which a third of the lives have
	r      *rand.Rand
	s      *agent.State
	now    int64
	def    agent.Definition
	law    *law

	messages  int // from people
	runs      int
	flights   map[agent.Key]func() agent.Event // effects in flight, and the functions that return the events of their ends
	ended     map[agent.Key]agent.Result       // sub-agents that have ended
	delivered map[agent.Key]bool               // notifications
	past      []agent.Event                    // events that may be delivered again at any time
	log       []agent.Event                    // nil for a restart
}

func newLife(seed uint64) *life {
	l := &life{
		r: rand.New(rand.NewPCG(seed, 7)), chance: rand.New(rand.NewPCG(seed, 8)), guard: rand.New(rand.NewPCG(seed, 9)), flights: map[agent.Key]func() agent.Event{}, ended: map[agent.Key]agent.Result{}, delivered: map[agent.Key]bool{},
	}
	l.def = agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Tools: []agent.Tool{
			{Name: "read"}, {Name: "pay", Approval: true, ApprovalMS: pick[int64](l.r, 0, 60_000)},
			{Name: agent.AskUser, Effect: agent.EffectExternal}, {Name: "deploy", Effect: agent.EffectExternal, ResultMS: pick[int64](l.r, 0, 60_000)},
			{Name: "wire", Effect: agent.EffectExternal, Approval: true},
			{Name: "clerk", Agent: "clerk", BudgetMS: 1000}, {Name: "lawyer", Agent: "lawyer", Approval: true},
			{Name: "scout", Agent: "scout", Background: true}, {Name: agent.Agents, Ref: agent.Agents},
		},
		Notify: []agent.Hook{{Name: "pager", On: agent.Occasions()}, {Name: "queue", On: []agent.Occasion{agent.OnWaits}}},
		Limits: agent.Limits{
			ModelCalls: pick(l.r, 0, 0, 2, 4), Tokens: pick(l.r, 0, 0, 0, 200), Time: pick(l.r, 0, time.Minute), Depth: pick(l.r, 0, 1, 1, 1),
		},
	}
	if l.guard.IntN(3) == 0 {
		l.def.Guardrails = agent.Guardrails{Messages: []string{"secrets", "tone"}, Answers: []string{"facts"}}
	}
	in := agent.Start{KeyVersion: agent.KeyVersion, Incarnation: "l", Agent: "x", Mode: pick(l.r, agent.Task, agent.Chat, agent.Chat)}
	if l.r.IntN(2) == 0 {
		in.Message = &agent.QueuedMessage{ID: "first", Text: "message 0.", Metadata: l.metadata(), Overrides: l.overrides()}
	}
	in.Metadata = l.metadata()
	l.s = agent.New("a", in, 0)
	l.law = newLaw(l.s)
	return l
}

// live performs the given number of random actions, and then lets the agent go on until it has nothing to do.
func (l *life) live(steps int) {
	for range steps {
		l.now += l.r.Int64N(5000)
		l.begin()
		l.happen()
	}
	for range 1000 {
		l.now++
		l.begin()
		if l.rests() {
			if l.s.Outcome == nil && len(l.flights) > 0 {
				l.land() // a sub-agent in the background may end
				continue
			}
			l.law.rests(l.s)
			return
		}
		l.goOn()
	}
	l.law.brokenf("the agent does not come to rest: %#v", l.s.Next())
}

// begin does what a driver does with a step: it starts the effects that are not in flight.
func (l *life) begin() {
	fly := func(key agent.Key, end func() agent.Event) {
		if l.flights[key] == nil {
			l.flights[key] = end
		}
	}
	for _, c := range l.s.Children {
		if c.Unwatched() {
			fly(c.Key, func() agent.Event { return l.childEnded(c.Key) })
		}
	}
	if l.chance.IntN(4) > 0 {
		l.notify()
	}
	step := l.s.Next()
	if find, ok := step.(agent.FindMessages); ok {
		fly(find.Key, l.searched)
		return
	}
	switch step := step.(type) {
	case agent.Load:
		fly(step.Key, func() agent.Event { return l.loaded(step.Key) })
	case agent.ResolveOverrides:
		fly(step.Key, func() agent.Event { return l.resolved(step) })
	case agent.Compact:
		if step.Key != "" {
			fly(step.Key, func() agent.Event { return l.summarised(step.Key) })
		}
	case agent.CallModel:
		l.apply(agent.ModelAsked{Key: step.Key})
		fly(step.Key, func() agent.Event { return l.replied(step.Key) })
	case agent.CheckText:
		l.law.judges(step)
		fly(step.Key, func() agent.Event { return l.judged(step) })
	case agent.RunTools:
		for _, c := range step.Calls {
			if c.Search {
				fly(agent.FindKey(c.Key), func() agent.Event { return l.recalled(c) })
			}
			switch {
			case c.Waits(), c.Stopped != nil, c.Judged:
			case c.Child != "":
				fly(c.Child, func() agent.Event { return l.childEnded(c.Child) })
			default:
				fly(c.Key, func() agent.Event { return l.toolEnded(c.Key) })
			}
		}
	}
}

// notify makes the notifications that are due, and ends the delivery of one.
func (l *life) notify() {
	l.apply(agent.NotificationsDue{Outcome: l.s.Outcome, Time: l.now})
	for _, n := range l.s.Notifications {
		if l.delivered[n.Key] {
			l.law.brokenf("the notification %s is made again", n.Key)
		}
	}
	if n := l.s.Notifications; len(n) > 0 && l.chance.IntN(2) == 0 {
		key := pick(l.chance, n...).Key
		l.delivered[key] = true
		l.apply(agent.NotificationEnded{Key: key})
	}
}

// happen performs one random action.
func (l *life) happen() {
	switch n := l.r.IntN(100); {
	case n < 35:
		l.land()
	case n < 55:
		l.goOn()
	case n < 65:
		l.write()
	case n < 73:
		l.decide()
	case n < 80:
		l.again()
	case n < 83:
		l.overdue()
	case n < 84:
		l.resumeChild()
	case n < 88:
		l.restart()
	case n < 90:
		l.apply(agent.TimeReached{Turn: l.s.Turn.Number - l.r.IntN(2), Time: l.now})
		l.apply(agent.TimeRestarted{Time: l.now})
	case n < 91:
		l.now += l.r.Int64N(120_000)
		l.apply(agent.WaitEnded{Time: l.now})
	case n < 92:
		l.apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(l.now))
	case n < 93:
		l.apply(agent.CancelRequested{Time: l.now})
	case n < 94:
		l.apply(agent.Closed{})
	case n < 95:
		l.rewind()
	case n < 97:
		l.resume()
	case n < 98:
		l.apply(agent.ReloadAsked{ID: fmt.Sprint(l.r.IntN(100))})
		l.apply(agent.PartialTextAsked{Until: l.now + int64(l.r.IntN(10_000)), Time: l.now})
	default: // an event that the agent did not ask for
		l.apply(pick[agent.Event](l.r,
			agent.ToolFinished{Key: "tool-0", Result: agent.Result{Content: "stray"}},
			agent.ChildFinished{Key: "agent-0", Result: agent.Result{Content: "stray"}},
			agent.ModelReplied{Key: "model-0", Reply: llm.Reply{Message: llm.Message{Content: "stray"}}},
			agent.MessageTaken{ID: "stray"}, agent.ModelAsked{Key: "model-0"}, agent.Ended{},
			agent.Decided{Decision: agent.Decision{Key: "tool-0", Approve: true}},
		))
	}
}

// goOn does what the next step asks for: it carries out a step without an effect, or ends an effect.
func (l *life) goOn() {
	switch step := l.s.Next().(type) {
	case agent.TakeMessage:
		l.apply(agent.MessageTaken{ID: step.ID, Time: l.now})
	case agent.Finish:
		l.apply(agent.Ended{})
	case agent.Compact:
		l.compact(step)
	case agent.RunTools:
		if l.s.AsksAboutText() || slices.ContainsFunc(step.Calls, func(c agent.Call) bool { return c.WaitsFor() != "" }) {
			l.decide()
			return
		}
		l.land()
	case agent.Wait:
		if l.s.AsksAboutText() {
			l.decide()
		}
	default:
		l.land()
	}
}

// rests reports whether the agent has nothing to do until a person acts.
func (l *life) rests() bool {
	_, waits := l.s.Next().(agent.Wait)
	return waits && (l.s.Hold != nil || !l.s.AsksAboutText()) || l.s.Outcome != nil
}

// land ends a random effect that is in flight.
func (l *life) land() {
	if len(l.flights) == 0 {
		return
	}
	key := pick(l.r, slices.Sorted(maps.Keys(l.flights))...)
	end := l.flights[key]
	delete(l.flights, key)
	l.apply(end())
}

func (l *life) loaded(key agent.Key) agent.Event {
	d := l.def
	if l.s.Reloads > 0 && l.r.IntN(2) == 0 {
		d.Tools = d.Tools[1:] // the new definition lacks a tool
	}
	return agent.DefinitionLoaded{Key: key, Definition: d}
}

func (l *life) replied(key agent.Key) agent.Event {
	switch n := l.r.IntN(20); {
	case n == 0:
		return agent.ModelFailed{Key: key, Class: string(llm.Unauthorized), Message: "no", Time: l.now}
	case n <= 2:
		return agent.ModelFailed{Key: key, Class: string(llm.ContextTooLong), Message: "too long", Time: l.now}
	}
	e := agent.ModelReplied{Key: key, Time: l.now}
	e.Reply.Usage = reported(l.now)
	if l.r.IntN(3) == 0 {
		e.Reply.Message.Content = fmt.Sprintf("answer %d.", len(l.log))
		return e
	}
	for i := range 1 + l.r.IntN(4) {
		call := llm.ToolCall{
			ID:   pick(l.r, "", "c", fmt.Sprint("c", i)),
			Name: pick(l.r, "read", "read", "pay", "clerk", "clerk", "lawyer", "fly", agent.AskUser, "deploy", "wire", "browse", "scout", "scout", agent.Agents),
		}
		call.Arguments = pick(l.r, `{"n":1}`, `{"n":1}`, "", `{"n":`, "[1]")
		if call.Name == agent.AskUser {
			call.Arguments = pick(l.r, `{"question":"which?"}`, `{"question":"which?","choices":["a","b"]}`, `{"question":" "}`, `{"n":1}`)
		}
		if call.Name == agent.Agents {
			call.Arguments = pick(l.r, "{}", "", l.stops())
		}
		if call.Name == "clerk" || call.Name == "lawyer" || call.Name == "scout" {
			call.Arguments = pick(l.r, `{"task":"count"}`, `{"task":"count"}`, `{"task":"sum","instance":"b"}`, `{"task":1}`, l.handle())
		}
		e.Reply.Message.ToolCalls = append(e.Reply.Message.ToolCalls, call)
	}
	if l.r.IntN(3) == 0 {
		l.foresee(e)
	}
	return e
}

// judged returns the verdict of a guardrail.
func (l *life) judged(step agent.CheckText) agent.Event {
	e := agent.TextChecked{Key: step.Key, Time: l.now, Recalled: l.guard.IntN(4) == 0}
	switch n := l.guard.IntN(8); n {
	case 0:
		e.Verdict = agent.Verdict{Action: agent.TextRefused, Reason: "no"}
	case 1, 2:
		e.Verdict = agent.Verdict{Action: agent.TextAsks, Reason: "unsure"}
	case 3:
		e.Verdict = agent.Verdict{Action: agent.TextChanged, Text: fmt.Sprintf("changed %d.", len(l.log))}
	default:
		e.Verdict = agent.Verdict{Action: agent.TextAllowed}
	}
	l.law.texts[step.Key] = step
	return e
}

// stops returns the arguments of a call that stops a sub-agent in the background, or sends it a message.
func (l *life) stops() string {
	if len(l.s.Children) == 0 {
		return `{"stop":"nobody"}`
	}
	return fmt.Sprintf(pick(l.r, `{"stop":%q}`, `{"to":%q,"message":"hurry"}`), pick(l.r, l.s.Children...).Key.Handle())
}

// handle returns the arguments of a call that asks for a sub-agent again by its handle.
func (l *life) handle() string {
	if len(l.s.Children) == 0 {
		return `{"task":"x","continue":"nobody"}`
	}
	key := string(pick(l.r, l.s.Children...).Key)
	_, digits, _ := strings.Cut(key, "-")
	return fmt.Sprintf(`{"task":"x","continue":%q}`, digits[:8])
}

// foresee applies decisions on the calls of a reply before the reply itself. This happens after a reset.
func (l *life) foresee(reply agent.Event) {
	then := clone(l.s)
	then.Apply(reply)
	for _, c := range then.Pending() {
		if c.Waits() {
			l.say(c)
		}
	}
}

func (l *life) toolEnded(key agent.Key) agent.Event {
	result := agent.Result{Content: pick(l.r, "", "result of "+string(key)), Time: l.now}
	if l.r.IntN(4) == 0 {
		return agent.ToolFinished{Key: key, Result: agent.Result{Time: l.now}, Elicitation: &agent.Elicitation{Question: "how?", State: string(key)}}
	}
	if l.r.IntN(6) == 0 {
		l.flights[key] = func() agent.Event { return agent.ToolFinished{Key: key, Result: result} } // the real result comes later
		return agent.ToolFinished{Key: key, Result: agent.ToolLost(l.now)}
	}
	return agent.ToolFinished{Key: key, Result: result, Recalled: l.r.IntN(4) == 0}
}

func (l *life) childEnded(key agent.Key) agent.Event {
	result, found := l.ended[key]
	if !found {
		result = agent.ChildAnswered("answer of "+string(key), 0)
		if l.r.IntN(4) == 0 {
			result = agent.ChildFailed("clerk", "failure of "+string(key), 0)
		}
		l.ended[key] = result
	}
	result.Time = l.now
	return agent.ChildFinished{Key: key, Result: result, Reattached: found}
}

// metadata returns metadata of a message or of the agent; half of them have none.
func (l *life) metadata() agent.Metadata {
	all := agent.Metadata{"customer": fmt.Sprint(l.r.IntN(3)), "user": fmt.Sprint(l.r.IntN(3))}
	caller := agent.Metadata{agent.CallerReference: fmt.Sprint("caller-", l.r.IntN(2))}
	return pick(l.r, nil, nil, agent.Metadata{"user": all["user"]}, all, caller)
}

func (l *life) write() {
	if l.messages == 12 {
		return
	}
	l.messages++
	m := agent.QueuedMessage{
		ID: fmt.Sprint("m", l.messages), Text: fmt.Sprintf("message %d.", l.messages), Steer: l.r.IntN(2) == 0, Metadata: l.metadata(),
	}
	if !m.Steer {
		m.Overrides = l.overrides()
	}
	l.apply(agent.MessageReceived{Time: l.now, Message: m})
}

func (l *life) decide() {
	asked := slices.DeleteFunc(l.s.Open(), func(c agent.Call) bool { return c.WaitsFor() == "" })
	if len(asked) > 0 {
		l.say(pick(l.r, asked...))
	}
	for _, c := range l.s.Unanswered {
		if c.Wait.For == agent.WaitsForResult && l.r.IntN(4) == 0 {
			l.sayLate(c)
			break
		}
	}
	if len(l.s.Permissions) > 0 && l.r.IntN(8) == 0 {
		l.apply(agent.PermissionRevoked{Key: pick(l.r, l.s.Permissions...).Key})
	}
}

// say applies a person's random decision on a call, or gives the call its result.
func (l *life) say(c agent.Call) {
	d := l.decision(c)
	open := slices.ContainsFunc(l.s.Pending(), func(o agent.Call) bool { return o.Key == c.Key })
	changed := l.apply(agent.Decided{Decision: d, Time: l.now})
	// While other runs are asked about the call, the result waits among the decisions.
	if d.Result != nil && open && !c.Search && l.s.Definition != nil && l.s.Reset == l.s.Searched && changed != tells(l.s, d.Result.Content) {
		l.law.brokenf("the result of call %s is lost", c.Key)
	}
}

// sayLate gives an external call its result after it was interrupted.
func (l *life) sayLate(c agent.Call) {
	given := agent.GivenResult{Content: "given late to " + string(c.Key)}
	d := agent.Decision{Key: c.Key, Result: &given}
	accepted := l.s.AcceptsDecision(d) == nil
	if l.apply(agent.Decided{Decision: d, Time: l.now}) && accepted && l.s.Definition != nil && l.s.Reset == l.s.Searched && !tells(l.s, given.Content) {
		l.law.brokenf("the late result of call %s is lost", c.Key)
	}
}

// decision returns a person's random decision on a call, or the result of the call.
func (l *life) decision(c agent.Call) agent.Decision {
	if c.WaitsFor() != agent.WaitsForApproval {
		given := agent.GivenResult{Content: "given to " + string(c.Key), IsError: l.r.IntN(4) == 0}
		return agent.Decision{Key: c.Key, Result: &given, Actor: agent.Actor{By: "ann"}}
	}
	d := agent.Decision{Key: c.Key, Approve: l.r.IntN(3) > 0, Actor: agent.Actor{By: "ann"}}
	switch {
	case c.Key.Kind() == agent.KindText:
		d.Reason = pick(l.guard, "", "not so")
		return d
	case !d.Approve:
		d.Reason = "too much"
	case l.r.IntN(3) == 0:
		if d.Arguments = `{"n":2}`; c.Name == "lawyer" {
			d.Arguments = `{"task":"count to two"}`
		}
	default:
		d.Remember = pick(l.r, "", "", agent.RememberTool, agent.RememberCall)
	}
	l.law.places[c.Key], l.law.tools[c.Key] = place{c.Model, c.Position}, c.Name
	return d
}

// overdue ends the wait for a sub-agent. The sub-agent goes on.
func (l *life) overdue() {
	for _, c := range l.s.Pending() {
		if c.Child != "" && l.flights[c.Child] != nil {
			l.apply(agent.ChildOverdue(c.Child, 1000, l.now))
			return
		}
	}
}

// resumeChild applies the answer of a sub-agent that had ended without an answer and was resumed.
func (l *life) resumeChild() {
	for _, c := range l.s.Children {
		if c.Phase == agent.ChildHasFailed {
			l.apply(agent.ChildFinished{Key: c.Key, Result: agent.ChildAnswered("late answer of "+string(c.Key), l.now)})
			return
		}
	}
}

// compact ends the request for a summary. If nothing can be cut, it lets the agent hold the turn.
func (l *life) compact(step agent.Compact) {
	if step.Key != "" {
		l.land()
		return
	}
	l.s.Advance(l.now)
	l.law.hold(l.s, agent.Stopped{}, true)
}

func (l *life) summarised(key agent.Key) agent.Event {
	switch n := l.r.IntN(6); n {
	case 0:
		return agent.ModelFailed{Key: key, Class: string(llm.ContextTooLong), Message: "too long", Time: l.now}
	case 1:
		return agent.ModelFailed{Key: key, Class: string(llm.Overloaded), Message: "no", Time: l.now}
	}
	return agent.ModelReplied{Key: key, Reply: llm.Reply{Message: llm.Message{Content: pick(l.r, "so far", "so far", " ")}}, Time: l.now}
}

// restart writes the state to JSON and reads it again, as a continue-as-new does.
func (l *life) restart() {
	again := clone(l.s)
	l.law.same(l.s, again)
	l.s = again
	l.log = append(l.log, nil)
}

// resume lets the agent go on in another run. The effects in flight are asked for again.
func (l *life) resume() {
	if l.s.Outcome == nil && l.r.IntN(4) > 0 {
		return
	}
	l.runs++
	clear(l.flights)
	l.apply(agent.Resumed{RunID: fmt.Sprint("run", l.runs), Reload: l.s.Definition != nil && l.r.IntN(4) == 0, Time: l.now})
}

// rewind tells the agent that a reset has begun its run.
func (l *life) rewind() {
	if l.s.Outcome == nil {
		l.runs++
		l.apply(agent.Rewound{Run: fmt.Sprint("run", l.runs)})
	}
}

// searched returns the end of a search of other runs, which may find decisions on the calls that wait, and on others.
func (l *life) searched() agent.Event {
	found := agent.MessagesFound{Run: l.s.Reset, Time: l.now}
	for _, c := range l.s.Pending() {
		if c.Waits() && l.r.IntN(2) == 0 {
			found.Decisions = append(found.Decisions, l.decision(c))
		}
	}
	for _, d := range l.s.Decisions {
		if d.Result == nil && l.r.IntN(4) == 0 {
			found.Decisions = append(found.Decisions, agent.Decision{Key: d.Key, Approve: !d.Approve})
		}
	}
	return found
}

// recalled returns what other runs know of a call: nothing, that somebody has approved it, its result, or its sub-agent.
func (l *life) recalled(c agent.Call) agent.Event {
	e := agent.CallFound{Key: c.Key, Time: l.now}
	switch l.r.IntN(4) {
	case 0:
		e.Record.Decider = &agent.Decider{Actor: agent.Actor{By: "ann"}, Remembered: true}
	case 1:
		// A sub-agent has one answer, whatever run gets it. One that was not started may not exist in the other run.
		if child, _ := l.s.Child(c.Child); child.Phase == agent.ChildAsked {
			e.Record.Result = &agent.Result{Content: "told of " + string(c.Key)}
		}
	case 2:
		e.Record.Child = c.Child
	}
	return e
}

// again delivers an earlier event a second time.
func (l *life) again() {
	if len(l.past) > 0 {
		l.law.unchanged(l.s, pick(l.r, l.past...))
	}
}

// apply delivers an event twice.
func (l *life) apply(e agent.Event) bool {
	l.log = append(l.log, e)
	changed := l.s.Apply(e)
	l.law.hold(l.s, e, changed)
	if !changed {
		return false
	}
	l.law.unchanged(l.s, e)
	if r, ok := e.(agent.ModelReplied); ok && l.s.Hold != nil && l.s.Hold.Key == r.Key {
		return true // the turn is held because of this reply, so the agent may ask for the same key again
	}
	switch e.(type) {
	case agent.DefinitionLoaded, agent.OverridesResolved, agent.OverridesRefused, agent.MessageReceived, agent.MessageTaken, agent.ModelReplied, agent.ToolFinished, agent.Decided, agent.TextChecked:
		l.past = append(l.past, e)
	}
	return true
}

// story returns the events so far as text.
func (l *life) story() string {
	var b strings.Builder
	for _, e := range l.log {
		if e == nil {
			b.WriteString("restart\n")
			continue
		}
		text, _ := json.Marshal(e)
		fmt.Fprintf(&b, "%T %s\n", e, text)
	}
	return b.String()
}

func clone(s *agent.State) *agent.State {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	again := new(agent.State)
	if err := json.Unmarshal(text, again); err != nil {
		panic(err)
	}
	return again
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
