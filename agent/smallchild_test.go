package agent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// This file adds sub-agents to small worlds: package workflows, child.go, and activities.FindCall and AwaitAgent. A sub-agent lives
// outside the runs of its parent. It begins once, because its ID is taken from then on, and it has one end, which each run of the parent
// gets in its own time. So its end and the arrival of its end are one act.
//
// What the model assumes. The tests that hold a part of it against a real server are e2e/children TestResetTakesTheSamePathPastASubAgent,
// TestResetTakesTheSamePathPastASubAgentInTheBackground and TestResetTakesTheSamePathPastASubAgentThatIsGone.
//
//   - A reset copies the start of a sub-agent, and its end if this had arrived for the task of the reset. Otherwise the new run waits for
//     the end by AwaitAgent.
//   - A search of earlier runs that had not ended is made again, by the new run.
//   - The limit of a wait for a sub-agent begins again after a reset: driver.refresh.
//   - Retention deletes the history of a sub-agent that has ended, and its ID can be used again.
//   - A run that ends before Temporal has started its sub-agent leaves none. No test with a server holds this.

// childKinds are the worlds with sub-agents.
func childKinds(more bool) []*smallKind {
	kinds := []*smallKind{
		{name: "sub-agent", replies: [][]string{{"clerk"}, {"count"}}, bounds: smallBounds{Overdue: 1, Reset: 1}},
		{name: "sub-agent whose history is deleted", replies: [][]string{{"clerk"}}, bounds: smallBounds{Overdue: 1, Reset: 1, Forget: 1}},
		{name: "sub-agent of an agent that is resumed", replies: [][]string{{"clerk"}}, bounds: smallBounds{Overdue: 1, Resume: 1, Reset: 1}},
		{name: "sub-agent with an approval", replies: [][]string{{"lawyer"}}, bounds: smallBounds{Decide: 1, Resume: 1, Reset: 1}},
		{name: "sub-agent in the background", replies: [][]string{{"scout"}, {"count"}}, bounds: smallBounds{Reset: 1, Forget: 1}},
		{name: "sub-agent in the background of an agent that is resumed", replies: [][]string{{"scout"}}, bounds: smallBounds{Resume: 1, Reset: 1}},
		{name: "sub-agent in the background beside a call", replies: [][]string{{"scout", "count"}}, bounds: smallBounds{Reset: 1}},
		{name: "sub-agent in the background that is asked for again", replies: [][]string{{"scout"}, {"scout"}}, bounds: smallBounds{Reset: 1}},
		{name: "sub-agent in the background that is asked for three times", replies: [][]string{{"scout"}, {"scout"}, {"scout"}}, bounds: smallBounds{Reset: 1}},
		{name: "sub-agent in the background twice in one reply", replies: [][]string{{"scout", "scout"}}, bounds: smallBounds{Reset: 1}},
		{name: "sub-agent in the background that is listed", replies: [][]string{{"scout"}, {"list"}}, bounds: smallBounds{Reset: 1}},
		{name: "sub-agent in the background that is stopped", replies: [][]string{{"scout"}, {"stop"}}, bounds: smallBounds{Reset: 1}},
		{name: "one sub-agent at a time in the background", replies: [][]string{{"scout", "scout 2"}, {"scout 2"}}, background: 1, bounds: smallBounds{Reset: 1}},
		{name: "one sub-agent at a time in the background, over three replies", replies: [][]string{{"scout"}, {"scout 2"}, {"scout 2"}}, background: 1, bounds: smallBounds{Reset: 1}, states: 60000},
		{name: "sub-agent of an agent that is resumed, whose history is deleted", replies: [][]string{{"clerk"}}, bounds: smallBounds{Resume: 1, Reset: 1, Forget: 1}},
		{name: "sub-agent in the background, and an approval", replies: [][]string{{"scout"}, {"pay"}}, bounds: smallBounds{Decide: 1, Reset: 1}},
	}
	if more {
		kinds = append(kinds,
			&smallKind{name: "sub-agent in the background that is stopped, over two resets", replies: [][]string{{"scout"}, {"stop"}}, bounds: smallBounds{Reset: 2}},
			&smallKind{name: "sub-agent in the background that is stopped, of an agent that is resumed", replies: [][]string{{"scout"}, {"stop"}}, bounds: smallBounds{Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background that is stopped and asked for again", replies: [][]string{{"scout"}, {"stop", "scout"}}, bounds: smallBounds{Reset: 1}, states: 120_000},
			&smallKind{name: "sub-agent in the background that is stopped, and then asked for again", replies: [][]string{{"scout"}, {"stop"}, {"scout"}}, bounds: smallBounds{Reset: 1}, states: 170_000},
			&smallKind{name: "sub-agent in the background that is listed beside a call", replies: [][]string{{"scout"}, {"list", "count"}}, bounds: smallBounds{Reset: 1}},
			&smallKind{name: "one sub-agent at a time in the background, and then another", replies: [][]string{{"scout"}, {"scout"}, {"scout 2"}}, background: 1, bounds: smallBounds{Reset: 1}},
			&smallKind{name: "sub-agent asked for again", replies: [][]string{{"clerk"}, {"clerk"}}, bounds: smallBounds{Overdue: 1, Reset: 1}},
			&smallKind{name: "sub-agent beside a call", replies: [][]string{{"clerk", "count"}}, bounds: smallBounds{Overdue: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agents of both kinds", replies: [][]string{{"scout", "clerk"}}, bounds: smallBounds{Overdue: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background over two resets", replies: [][]string{{"scout"}}, bounds: smallBounds{Reset: 2, Forget: 1}},
			&smallKind{name: "sub-agent in the background beside a call over two resets", replies: [][]string{{"scout", "count"}}, bounds: smallBounds{Reset: 2}},
			&smallKind{name: "sub-agent in the background beside a call of an agent that is resumed", replies: [][]string{{"scout", "count"}}, bounds: smallBounds{Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background beside an approval", replies: [][]string{{"scout", "pay"}}, bounds: smallBounds{Decide: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background asked for again by an agent that is resumed", replies: [][]string{{"scout"}, {"scout"}}, bounds: smallBounds{Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background asked for again, and steering", replies: [][]string{{"scout"}, {"scout"}}, bounds: smallBounds{Steer: 1, Reset: 1}},
			&smallKind{name: "sub-agent, and a call", replies: [][]string{{"clerk"}, {"count"}}, bounds: smallBounds{Overdue: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent with an approval, and a call", replies: [][]string{{"lawyer"}, {"count"}}, bounds: smallBounds{Decide: 1, Overdue: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent in the background, and a call", replies: [][]string{{"scout"}, {"count"}}, bounds: smallBounds{Resume: 1, Reset: 1}},
			&smallKind{name: "sub-agent with late decisions", replies: [][]string{{"lawyer"}}, bounds: smallBounds{Decide: 2, Reset: 2, Stale: 1}},
			&smallKind{name: "sub-agent that is interrupted", replies: [][]string{{"clerk"}, {"count"}}, bounds: smallBounds{Interrupt: 1, Reset: 1}},
		)
	}
	return kinds
}

// smallFamily is what a run knows of its sub-agents besides the state: the fields recalledBy and late of the driver.
type smallFamily struct {
	asked map[agent.Key]string // the run that has searched the earlier runs for a call
	late  map[agent.Key]bool   // calls whose late results are searched for, and whether the search has ended
	ends  int                  // number of ends that have arrived
}

func (f smallFamily) clone() smallFamily {
	return smallFamily{maps.Clone(f.asked), maps.Clone(f.late), f.ends}
}

// smallWork is what really happened to the sub-agents.
type smallWork struct {
	Begun  []agent.Key
	Places map[string]agent.Key // sub-agents by the places of the calls that began them
	Ends   map[agent.Key]string // answers; empty for a sub-agent that was cancelled
	Gone   []agent.Key          // sub-agents whose histories are deleted
	Heard  map[string]string    // what the model was told of the calls at these places, before it went on
	Asked  map[int]agent.Key    // model calls by the numbers of their replies
}

func (f smallWork) clone() smallWork {
	return smallWork{slices.Clip(f.Begun), maps.Clone(f.Places), maps.Clone(f.Ends), slices.Clip(f.Gone), maps.Clone(f.Heard), maps.Clone(f.Asked)}
}

// These are the stages of the flights that belong to sub-agents.
const (
	stageStarts = "starts" // the driver has asked Temporal to start the sub-agent
	stageWorks  = "works"  // the run waits for its end
	stageEnded  = "ended"  // its end has arrived, and earlier runs are searched first
	stageLimit  = "limit"  // the timer of a call that waits for a sub-agent
	stageRecall = "recall" // FindCall
)

// These events arrive at the driver, which does more with them than to apply them.
type (
	smallStarted struct{ agent.ChildStarted }
	smallEnded   struct{ agent.ChildFinished }
	// smallRecalled is the result of FindCall.
	smallRecalled struct {
		agent.CallFound
		run   string    // the run that has made the search
		owner agent.Key // the sub-agent whose end waits for this search; empty if something else began it
	}
)

// childTools are the sub-agents of the agents in small worlds.
func (k *smallKind) childTools() []agent.Tool {
	if !k.family() {
		return nil
	}
	return []agent.Tool{
		{Name: "clerk", Agent: "clerk", BudgetMS: 1000}, {Name: "scout", Agent: "scout", Background: true},
		{Name: "lawyer", Agent: "lawyer", Approval: true, BudgetMS: 1000}, {Name: agent.Agents, Ref: agent.Agents},
	}
}

// family reports whether the agent calls sub-agents.
func (k *smallKind) family() bool {
	return slices.ContainsFunc(k.replies, func(names []string) bool { return slices.ContainsFunc(names, callsChild) })
}

func callsChild(name string) bool { return name == "clerk" || name == "scout" || name == "lawyer" }

// smallCall returns the call that a name in [smallKind].replies means. "stop" stops the first sub-agent, "list" lists those in the background,
// and "scout 2" gives a scout another task.
func (w *smallWorld) smallCall(id, name string) llm.ToolCall {
	c := llm.ToolCall{ID: id, Name: name, Arguments: "{}"}
	switch {
	case name == agent.AskUser:
		c.Arguments = `{"question":"which?"}`
	case name == "list":
		c.Name = agent.Agents
	case name == "stop":
		c.Name, c.Arguments = agent.Agents, fmt.Sprintf(`{"stop":%q}`, w.now.state.Children[0].Key.Handle())
	case name == "scout 2":
		c.Name, c.Arguments = "scout", `{"task":"u"}`
	case callsChild(name):
		c.Arguments = `{"task":"t"}`
	}
	return c
}

// fly adds a flight of a sub-agent, and reports whether there was none with this key. `scheduled` says that the history of the run has it.
func (w *smallWorld) fly(key agent.Key, f smallFlight, scheduled bool) bool {
	if _, flies := w.now.flights[key]; flies {
		return false
	}
	w.now.flights[key] = &f
	if scheduled {
		w.now.begun[key] = true
	}
	return true
}

// searchesLate is driver.searchesLate.
func (w *smallWorld) searchesLate() bool {
	s := w.now.state
	if !w.family() || s.Outcome != nil || s.Definition == nil {
		return false
	}
	searching := false
	for _, call := range s.Unanswered {
		if ended, begun := w.now.family.late[call.Key]; begun {
			searching = searching || !ended
		} else if w.mayHaveLate(call) {
			searching, w.now.family.late[call.Key] = true, false
			w.recall(call, "")
		}
	}
	return searching
}

// mayHaveLate is driver.mayHaveLate.
func (w *smallWorld) mayHaveLate(call agent.Call) bool {
	child, known := w.now.state.Child(call.Child)
	return known && child.Unwatched() && w.now.family.asked[call.Key] != w.now.id && w.now.state.MayRecall(call.Key)
}

// awaitsLate is driver.awaitsLate.
func (w *smallWorld) awaitsLate() bool {
	return w.family() && slices.ContainsFunc(w.now.state.Unanswered, func(call agent.Call) bool {
		ended, begun := w.now.family.late[call.Key]
		return begun && !ended || !begun && w.mayHaveLate(call)
	})
}

// watchChildren is the first part of driver.carryOut.
func (w *smallWorld) watchChildren(step agent.Step) {
	s := w.now.state
	if _, ends := step.(agent.Finish); ends || s.Definition == nil {
		return
	}
	for _, child := range s.Children {
		_, flies := w.now.flights[child.Key]
		if child.Unwatched() && !flies && w.recalled(s.Waiting(child.Key)...) {
			w.watch(child.Key)
		}
	}
}

// waitForChild is the part of driver.runTools for a call that waits for a sub-agent.
func (w *smallWorld) waitForChild(c agent.Call) {
	if !w.recalled(c) {
		return
	}
	w.now.state.Apply(agent.CallBegan{Key: c.Key, Time: smallTime})
	w.watch(c.Child)
	w.fly(c.Key, smallFlight{stage: stageLimit, call: c}, false)
}

// recalled is driver.recalled.
func (w *smallWorld) recalled(calls ...agent.Call) bool {
	all := true
	for _, c := range calls {
		if w.now.family.asked[c.Key] != w.now.id && w.now.state.MayRecall(c.Key) {
			all = false
			w.recall(c, "")
		}
	}
	return all
}

// recall is driver.recall.
func (w *smallWorld) recall(c agent.Call, owner agent.Key) {
	w.fly(agent.FindKey(c.Key), smallFlight{stage: stageRecall, call: c, owner: owner}, true)
}

// watch is driver.watchChild.
func (w *smallWorld) watch(key agent.Key) {
	child, _ := w.now.state.Child(key)
	f := smallFlight{stage: stageWorks}
	if child.Phase == agent.ChildAsked {
		f.stage = stageStarts
	}
	if w.fly(key, f, true) && child.Phase == agent.ChildAsked {
		w.checkChild(key)
	}
}

// childActs returns what may happen to a flight of a sub-agent.
func (w *smallWorld) childActs(key agent.Key) []act {
	f := w.now.flights[key]
	arrives := func(text string, e agent.Event, line string) act {
		return act{text, func(w *smallWorld) {
			delete(w.now.flights, key)
			w.task(smallTask{event: e, line: line})
		}}
	}
	name := string(key)[:12]
	switch f.stage {
	case stageStarts:
		return []act{{"the sub-agent " + name + " starts", func(w *smallWorld) {
			w.beginChild(key)
			delete(w.now.flights, key)
			w.task(smallTask{event: smallStarted{agent.ChildStarted{Key: key}}, line: "# started " + string(key)})
		}}}
	case stageWorks:
		answers := func(text, answer string) act {
			return act{text, func(w *smallWorld) {
				if !slices.Contains(w.facts.Work.Begun, key) {
					panic(broken(fmt.Sprintf("the run waits for the sub-agent %s, which nobody has started", key)))
				}
				w.facts.Work.Ends[key] = answer
				delete(w.now.flights, key)
				e, line := w.childEnd(key)
				w.task(smallTask{event: e, line: line})
			}}
		}
		answer, ended := w.facts.Work.Ends[key]
		if ended {
			return []act{answers("the end of the sub-agent "+name+" arrives", answer)}
		}
		acts := []act{answers("the sub-agent "+name+" answers", "answer of "+string(key))}
		if w.cancelled(key) {
			acts = append(acts, answers("the sub-agent "+name+" is cancelled", ""))
		}
		return acts
	case stageLimit:
		if w.left.Overdue == 0 {
			return nil
		}
		return []act{{"the wait of " + name + " for its sub-agent ends", func(w *smallWorld) {
			w.left.Overdue--
			delete(w.now.flights, key)
			w.task(smallTask{event: agent.ChildOverdue(f.call.Child, 1000, smallTime), line: "childlost " + string(f.call.Child) + " no answer within 1s"})
		}}}
	case stageRecall:
		e := smallRecalled{agent.CallFound{Key: f.call.Key, Record: w.recallCall(f.call), Time: smallTime}, w.now.id, f.owner}
		text, err := json.Marshal(e.Record)
		if err != nil {
			panic(err)
		}
		return []act{arrives("the search "+string(key)[:13]+" ends", e, fmt.Sprintf("recalled %s %s", f.call.Key, text))}
	}
	return nil
}

// forget returns the acts by which retention deletes the histories of sub-agents. It deletes only what a run has got.
func (w *smallWorld) forget() []act {
	var acts []act
	for _, key := range w.facts.Work.Begun {
		got := slices.ContainsFunc(w.runs, func(r *smallRun) bool { c, _ := r.state.Child(key); return c.Phase.Ended() })
		if w.left.Forget > 0 && got && !slices.Contains(w.facts.Work.Gone, key) {
			acts = append(acts, act{"the history of the sub-agent " + string(key)[:12] + " is deleted", func(w *smallWorld) {
				w.left.Forget--
				w.facts.Work.Gone = append(w.facts.Work.Gone, key)
			}})
		}
	}
	return acts
}

// cancelled reports whether a run has asked Temporal to cancel the sub-agent.
func (w *smallWorld) cancelled(key agent.Key) bool {
	return slices.ContainsFunc(w.runs, func(r *smallRun) bool { c, _ := r.state.Child(key); return c.Attachment == agent.ChildCancelling })
}

// childEnd returns the event that tells the parent how a sub-agent has ended.
func (w *smallWorld) childEnd(key agent.Key) (agent.Event, string) {
	child, _ := w.now.state.Child(key)
	answer := w.facts.Work.Ends[key]
	e := smallEnded{agent.ChildFinished{Key: key, Result: agent.ChildAnswered(answer, 0)}}
	switch {
	case slices.Contains(w.facts.Work.Gone, key):
		e.Result = agent.ChildFailed(child.Agent, "it is gone", 0)
		return e, "childfailed " + string(key) + " it is gone"
	case answer == "":
		e.Result = agent.ChildFailed(child.Agent, "cancelled", 0)
		return e, "childfailed " + string(key) + " cancelled"
	}
	return e, "child " + string(key) + " " + answer
}

// recallCall is activities.FindCall.
func (w *smallWorld) recallCall(c agent.Call) agent.CallRecord {
	var out agent.CallRecord
	for _, run := range slices.Backward(w.runs) {
		mentions := run.begun[c.Key] || run.begun[c.Model] || run.begun[agent.FindKey(c.Key)] || c.Child != "" && run.begun[c.Child]
		if run == w.now || !mentions {
			continue
		}
		var more bool
		if out, more = out.Join(run.state.CallRecord(c)); !more {
			break
		}
	}
	return out
}

// deliverChild does what the driver does with an event of a sub-agent. `known` says that the event is one.
func (w *smallWorld) deliverChild(e agent.Event) (known bool) {
	s := w.now.state
	switch e := e.(type) {
	case smallStarted:
		s.Apply(e.ChildStarted)
		w.fly(e.Key, smallFlight{stage: stageWorks}, false)
	case smallEnded:
		unasked := slices.DeleteFunc(s.Waiting(e.Key), func(c agent.Call) bool {
			return w.now.family.asked[c.Key] == w.now.id || !s.MayRecall(c.Key)
		})
		w.childEnded(e, unasked, len(unasked) > 0)
	case smallRecalled:
		if e.run != w.now.id { // driver.recall: a reset came meanwhile
			delete(w.now.family.late, e.Key)
			for key, f := range w.now.flights {
				if f.stage == stageEnded && f.unasked[0].Key == e.Key {
					w.recall(f.unasked[0], key)
				}
			}
			return true
		}
		w.now.family.asked[e.Key] = e.run
		s.Apply(e.CallFound)
		if _, begun := w.now.family.late[e.Key]; begun {
			w.now.family.late[e.Key] = true
		}
		for _, key := range sortedKeys(w.now.flights) {
			f, flies := w.now.flights[key]
			if !flies || f.stage != stageEnded || f.unasked[0].Key != e.Key {
				continue
			}
			if key != e.owner {
				w.drive() // the loop comes before the coroutine that has waited for the search of another one
			}
			delete(w.now.flights, key)
			w.childEnded(f.end, f.unasked[1:], true)
		}
	case agent.ModelReplied:
		if n := w.repliesSoFar(); w.family() && w.bounds.Interrupt == 0 && s.Apply(e) {
			if before := w.facts.Work.Asked[n]; before != "" && before != e.Key {
				panic(broken(fmt.Sprintf("the model is asked for reply %d twice, by %s and by %s", n, before, e.Key)))
			}
			w.facts.Work.Asked[n] = e.Key
			return true
		}
		return w.family() && w.bounds.Interrupt == 0
	default:
		return false
	}
	return true
}

// childEnded is driver.childEnded.
func (w *smallWorld) childEnded(e smallEnded, unasked []agent.Call, searched bool) {
	if len(unasked) > 0 {
		w.now.flights[e.Key] = &smallFlight{stage: stageEnded, unasked: unasked, end: e}
		w.recall(unasked[0], e.Key)
		return
	}
	w.now.family.ends++
	e.Result.Time = int64(smallTime + w.now.family.ends)
	if !searched || !w.now.state.Knows(e.ChildFinished) {
		w.now.state.Apply(e.ChildFinished)
	}
}

// restartLimit lets the limit of the wait for a sub-agent begin again.
func (w *smallWorld) restartLimit(child agent.Key) {
	for _, c := range w.now.state.Waiting(child) {
		w.fly(c.Key, smallFlight{stage: stageLimit, call: c}, false)
	}
}

// placeOf returns the number of the reply that asks for a call, and the position of the call in this reply.
func (w *smallWorld) placeOf(model agent.Key, position int) string {
	n := 0
	for _, m := range w.now.state.Messages {
		if m.Role == llm.Assistant && m.Key == model {
			break
		}
		if m.Role == llm.Assistant {
			n++
		}
	}
	return fmt.Sprint(n, ".", position)
}

// callOf returns the newest call for a sub-agent.
func (w *smallWorld) callOf(child agent.Key) agent.Call {
	s := w.now.state
	for _, c := range slices.Backward(slices.Concat(s.Unanswered, s.Calls)) {
		if c.Child == child {
			return c
		}
	}
	panic(broken(fmt.Sprintf("the sub-agent %s starts, and no call asks for it", child)))
}

// checkChild reports a breach if the driver may not start the sub-agent now. A sub-agent that exists is only waited for.
func (w *smallWorld) checkChild(key agent.Key) {
	if slices.Contains(w.facts.Work.Gone, key) {
		panic(broken(fmt.Sprintf("the sub-agent %s runs twice", key)))
	}
	c := w.callOf(key)
	place := w.placeOf(c.Model, c.Position)
	before := w.facts.Work.Places[place]
	switch {
	case before != "" && before != key:
		panic(broken(fmt.Sprintf("the call at %s runs twice, by the sub-agents %s and %s", place, before, key)))
	case before == key, slices.Contains(w.facts.Work.Begun, key):
		return // a run was to start it before, so it may exist
	}
	if w.facts.Work.Places[place] = key; c.Name == "lawyer" {
		w.checkApproval(c)
	}
}

// beginChild records that a sub-agent exists.
func (w *smallWorld) beginChild(key agent.Key) {
	if slices.Contains(w.facts.Work.Begun, key) {
		return
	}
	c := w.callOf(key)
	w.facts.Work.Begun, w.facts.Begun = append(w.facts.Work.Begun, key), append(w.facts.Begun, c.Key)
}

// holdsChildren checks the law of sub-agents in a state: what the model is told of a call does not change once the model has gone on, and
// an answer is told once.
func (w *smallWorld) holdsChildren() {
	s := w.now.state
	if !w.family() {
		return
	}
	heard := len(s.Messages) - 1 // the messages before this one
	for heard >= 0 && s.Messages[heard].Role != llm.Assistant {
		heard--
	}
	positions := map[string]int{}
	var model agent.Key
	for i, m := range s.Messages {
		for j, c := range m.ToolCalls {
			positions[c.ID], model = j, m.Key
		}
		if m.Role != llm.Tool || w.bounds.Interrupt > 0 {
			continue
		}
		place := w.placeOf(model, positions[m.ToolCallID])
		told, known := w.facts.Work.Heard[place]
		switch {
		case known && told != m.Content:
			panic(broken(fmt.Sprintf("of the call at %s, the model is told %q, and was told %q", place, m.Content, told)))
		case i < heard:
			w.facts.Work.Heard[place] = m.Content
		}
	}
	_, waits := s.Next().(agent.Wait)
	rests := waits && !w.now.closed && len(w.now.flights) == 0 && s.Hold == nil
	for _, key := range w.facts.Work.Begun {
		answer := w.facts.Work.Ends[key]
		told := 0
		for _, m := range s.Messages {
			if answer != "" && strings.Contains(m.Content, answer) {
				told++
			}
		}
		child, _ := s.Child(key)
		switch {
		case told > 1:
			panic(broken(fmt.Sprintf("the answer of %s is told %d times", key, told)))
		case !rests || w.cancelled(key):
		case !child.Phase.Ended():
			panic(broken(fmt.Sprintf("the agent rests, and does not wait for the sub-agent %s", key)))
		case told == 0 && answer != "":
			panic(broken(fmt.Sprintf("the answer of %s is not told", key)))
		}
	}
}
