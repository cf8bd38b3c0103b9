package agent_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Random lives hardly ever meet three features at once. So these tests try every life up to a bound, and check the law of decisions in
// each state of each life:
//
//	What a person decided in any run of the agent holds in every run, at every reset point. No call begins before the agent knows
//	every decision that other runs hold. What has a result is neither asked about nor told otherwise, and nothing runs twice.

var exploreMore = flag.Bool("explore-more", false, "try TestEveryLifeOfSmallWorlds with larger bounds, for minutes")

// smallKinds are the worlds of TestEveryLifeOfSmallWorlds.
func smallKinds(more bool) []*smallKind {
	kinds := []*smallKind{
		{name: "permission, revoked, denied in another run", replies: [][]string{{"pay"}, {"pay"}}, bounds: smallBounds{Decide: 2, Remember: 1, Revoke: 1, Resume: 1, Reset: 1}},
		{name: "a reply during the search", replies: [][]string{{"pay"}, {"pay"}}, bounds: smallBounds{Decide: 2, Remember: 1, Revoke: 1, Resume: 1, Reset: 1, Idle: 1}},
		{name: "two calls of one reply", replies: [][]string{{"pay", "pay"}}, bounds: smallBounds{Decide: 2, Remember: 1, Timeout: 1, Resume: 1, Reset: 1}},
		{name: "resets of resets", replies: [][]string{{"pay"}}, bounds: smallBounds{Decide: 2, Remember: 1, Reset: 2, Stale: 1}},
		{name: "decision during the search, on a call that waits", replies: [][]string{{"pay"}}, bounds: smallBounds{Decide: 2, Reset: 2, Stale: 1, Idle: 1}},
		{name: "cancel while a call is recalled", replies: [][]string{{"count"}, {"count"}}, bounds: smallBounds{Cancel: 1, Resume: 1, Reset: 1}},
		{name: "permission, cancelled, revoked", replies: [][]string{{"pay"}, {"pay"}}, bounds: smallBounds{Decide: 1, Remember: 1, Revoke: 1, Cancel: 1, Resume: 1, Reset: 1}},
		{name: "question", replies: [][]string{{"pay", agent.AskUser}}, bounds: smallBounds{Decide: 2, Resume: 1, Reset: 1, Stale: 1}},
		{name: "steering", replies: [][]string{{"count"}, {"count"}}, bounds: smallBounds{Steer: 1, Resume: 1, Reset: 1}},
		{name: "steering and interrupt", replies: [][]string{{"count"}}, bounds: smallBounds{Steer: 1, Interrupt: 1, Resume: 1, Reset: 1}},
		{name: "interrupt", replies: [][]string{{"count", "pay"}, {"count"}}, bounds: smallBounds{Decide: 1, Interrupt: 1, Reset: 1}},
	}
	kinds = append(kinds, childKinds(more)...)
	if more {
		kinds = append(kinds,
			&smallKind{name: "resets of resets of two calls", replies: [][]string{{"pay", "pay"}}, bounds: smallBounds{Decide: 2, Remember: 1, Reset: 2, Stale: 1}},
			&smallKind{name: "two replies of two calls", replies: [][]string{{"pay", agent.AskUser}, {"pay"}}, bounds: smallBounds{Decide: 3, Remember: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "three runs", replies: [][]string{{"pay"}}, bounds: smallBounds{Decide: 1, Remember: 1, Timeout: 1, Resume: 1, Reset: 2, Stale: 1}},
			&smallKind{name: "steering over two resets", replies: [][]string{{"count"}}, bounds: smallBounds{Steer: 1, Resume: 1, Reset: 2}},
			&smallKind{name: "two steering messages", replies: [][]string{{"count"}, {"count"}}, bounds: smallBounds{Steer: 2, Resume: 1, Reset: 1}},
			&smallKind{name: "steering and cancel", replies: [][]string{{"count"}, {"count"}}, bounds: smallBounds{Steer: 1, Cancel: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "steering, interrupt, resume", replies: [][]string{{"count"}, {"count"}}, bounds: smallBounds{Steer: 1, Interrupt: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "interrupt, resume", replies: [][]string{{"count", "pay"}, {"count"}}, bounds: smallBounds{Decide: 1, Interrupt: 1, Resume: 1, Reset: 1}},
			&smallKind{name: "cancels", replies: [][]string{{"count", "pay"}}, bounds: smallBounds{Decide: 1, Cancel: 1, Resume: 1, Reset: 1}},
		)
	}
	for _, kind := range kinds {
		if !more && kind.states == 0 {
			kind.states = 60_000
		}
	}
	return kinds
}

func TestEveryLifeOfSmallWorlds(t *testing.T) {
	for _, kind := range smallKinds(*exploreMore) {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			count, breach := explore(kind, "")
			t.Logf("%s: %d states", kind.name, count)
			require.Empty(t, breach)
		})
	}
}

// explore tries every life of a small world, shortest first, up to the number of states of its kind. It returns the number of states that it
// has seen, and a description of the first breach of the law that contains the given text; "" if there is none. Lives with another breach go
// no further.
func explore(kind *smallKind, text string) (count int, breach string) {
	seen := map[uint64]bool{}
	first := newSmallWorld(kind)
	first.pack()
	queue := []*smallWorld{first}
	for len(queue) > 0 && (kind.states == 0 || count < kind.states) {
		w := queue[0]
		queue[0], queue = nil, queue[1:]
		count++
		w.unpack()
		for _, act := range w.acts() {
			next, found := w.perform(act)
			if found != "" && strings.Contains(found, text) {
				return count, found
			}
			if found != "" {
				continue
			}
			next.pack()
			if h := next.fingerprint(); !seen[h] {
				seen[h] = true
				queue = append(queue, next)
			}
		}
	}
	return count, ""
}

// act is something that may happen in a world.
type act struct {
	text string
	do   func(*smallWorld)
}

// perform returns the world after the act, and a description of the breach if the act breaks the law.
func (w *smallWorld) perform(a act) (next *smallWorld, breach string) {
	next = w.clone()
	next.story = &smallStep{a.text, w.story}
	defer func() {
		found := recover()
		if found == nil {
			return
		}
		text, ok := found.(broken)
		if !ok {
			panic(found)
		}
		var story []string
		for step := next.story; step != nil; step = step.before {
			story = append(story, step.text)
		}
		slices.Reverse(story)
		breach = fmt.Sprintf("%s\n\nthe life:\n  %s\n\nrun %s as a script:\n%s", text, strings.Join(story, "\n  "), next.now.id, next.script())
	}()
	a.do(next)
	next.holds()
	return next, ""
}

// fingerprint returns a hash of a packed world. Worlds with the same hash have the same future.
func (w *smallWorld) fingerprint() uint64 {
	h := fnv.New64a()
	for _, r := range w.runs {
		fmt.Fprint(h, r.hash, r.closed, len(r.sent), len(r.found))
	}
	facts, err := json.Marshal(w.facts)
	if err != nil {
		panic(err)
	}
	h.Write(w.packed)
	h.Write(facts)
	fmt.Fprint(h, w.left)
	for _, key := range sortedKeys(w.now.flights) {
		fmt.Fprint(h, key, w.now.flights[key].lost, w.now.flights[key].stage, len(w.now.flights[key].unasked))
	}
	fmt.Fprint(h, w.now.family)
	return h.Sum64()
}

func sortedKeys(flights smallFlights) []agent.Key {
	keys := make([]agent.Key, 0, len(flights))
	for key := range flights {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// acts returns what may happen next.
func (w *smallWorld) acts() []act {
	var acts []act
	add := func(text string, do func(*smallWorld)) { acts = append(acts, act{text, do}) }
	run := w.now
	for _, key := range sortedKeys(run.flights) {
		if key.Kind() == agent.KindModel && (!w.shown() || w.awaitsLate()) {
			continue // the reply waits for the searches
		}
		if run.flights[key].stage != "" {
			acts = append(acts, w.childActs(key)...)
			continue
		}
		add("the activity "+string(key)[:12]+" ends", func(w *smallWorld) {
			e, line := w.end(key)
			delete(w.now.flights, key)
			w.task(smallTask{event: e, line: line})
		})
	}
	if run.closed {
		acts = append(acts, w.revocations()...)
	} else {
		acts = append(acts, w.people()...)
	}
	acts = append(acts, w.forget()...)
	if w.left.Resume > 0 {
		text := "terminate and resume"
		if run.closed {
			text = "resume"
		}
		add(text, func(w *smallWorld) { w.left.Resume--; w.resume() })
	}
	if w.left.Reset > 0 {
		for i, r := range w.runs {
			for task := range r.tasks {
				if r.tasks[task].flights == nil {
					continue
				}
				for _, order := range []string{"", ", updates first"} {
					add(fmt.Sprintf("reset run %s to task %d (%.20s)%s", r.id, task+1, r.tasks[task].line, order), func(w *smallWorld) {
						w.left.Reset--
						w.reset(w.runs[i], task, order != "")
					})
				}
			}
		}
	}
	return acts
}

// people returns what people may do.
func (w *smallWorld) people() []act {
	var acts []act
	s := w.now.state
	say := func(d agent.Decision, stale bool) {
		acts = append(acts, act{wordLine(d), func(w *smallWorld) { w.say(d, stale) }})
	}
	words := func(key agent.Key, stale bool) {
		say(agent.Decision{Key: key, Approve: true, Actor: agent.Actor{By: "ann"}}, stale)
		say(agent.Decision{Key: key, Actor: agent.Actor{By: "ann"}}, stale)
		if w.left.Remember > 0 {
			say(agent.Decision{Key: key, Approve: true, Remember: agent.RememberTool, Actor: agent.Actor{By: "ann"}}, stale)
		}
	}
	for _, c := range s.Pending() {
		switch {
		case w.left.Decide == 0:
		case c.WaitsFor() == agent.WaitsForApproval && w.shown():
			words(c.Key, false)
		case c.WaitsFor() == agent.WaitsForAnswer && w.shown():
			say(agent.Decision{Key: c.Key, Result: &agent.GivenResult{Content: "answer of " + string(c.Key)[:9]}}, false)
		}
	}
	if w.left.Stale > 0 && w.left.Decide > 0 && s.Reset != s.Searched {
		for _, wait := range w.facts.Waited {
			words(wait.Key, true)
		}
	}
	acts = append(acts, w.revocations()...)
	if deadline := s.WaitDeadline(); w.left.Timeout > 0 && deadline != 0 && w.shown() {
		acts = append(acts, act{"the wait ends", func(w *smallWorld) {
			w.left.Timeout--
			for _, c := range s.Pending() {
				if c.Waits() && !c.Search {
					w.facts.Expired = append(w.facts.Expired, c.Key)
				}
			}
			w.task(smallTask{event: agent.WaitEnded{Time: deadline}, line: "waitended"})
		}})
	}
	// A person who writes before a reset run has caught up with the others leads the agent on a path of its own.
	if w.left.Interrupt > 0 && s.TurnRuns() && !s.Recall {
		acts = append(acts, act{"interrupt", func(w *smallWorld) {
			w.left.Interrupt--
			w.task(smallTask{event: agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(smallTime), line: "interrupt ann"})
			m := agent.MessageReceived{Time: smallTime, Message: agent.QueuedMessage{ID: "m2", Text: "go on", Steer: true, After: w.now.state.Entry()}}
			w.now.sent = append(w.now.sent, m)
			w.task(smallTask{event: m, update: true, line: "message m2 (steer) go on"})
		}})
	}
	if w.left.Steer > 0 && s.TurnRuns() && !s.Recall {
		acts = append(acts, act{"steer", func(w *smallWorld) {
			id := fmt.Sprint("s", w.left.Steer)
			w.left.Steer--
			m := agent.MessageReceived{Time: smallTime, Message: agent.QueuedMessage{ID: id, Text: "mind this", Steer: true, After: w.now.state.Entry()}}
			w.now.sent = append(w.now.sent, m)
			w.task(smallTask{event: m, update: true, line: "message " + id + " (steer) mind this"})
		}})
	}
	if w.left.Idle > 0 && len(w.runs) == 1 && (s.InFlight != "" || w.left.Stale > 0 && len(s.Pending()) > 0) {
		acts = append(acts, act{"a task that changes nothing", func(w *smallWorld) {
			w.left.Idle--
			w.task(smallTask{event: agent.PartialTextAsked{Until: 1, Time: smallTime}, line: "watch 0"})
		}})
	}
	if w.left.Cancel > 0 {
		acts = append(acts, act{"cancel", func(w *smallWorld) {
			w.left.Cancel--
			w.task(smallTask{event: agent.CancelRequested{Time: smallTime}, line: "cancel"})
		}})
	}
	return acts
}

// revocations returns an act for each permission that people may revoke. They may also revoke one after the agent has ended, while its run
// is still open.
func (w *smallWorld) revocations() []act {
	var acts []act
	if w.left.Revoke == 0 {
		return nil
	}
	for _, p := range w.now.state.Permissions {
		acts = append(acts, act{"revoke " + string(p.Key), func(w *smallWorld) {
			w.left.Revoke--
			w.facts.Words = append(w.facts.Words, smallWord{Decision: agent.Decision{Key: p.Key}, Revokes: true, Begun: len(w.facts.Begun)})
			e := agent.PermissionRevoked{Key: p.Key}
			w.now.sent = append(w.now.sent, e)
			w.task(smallTask{event: e, update: true, line: "revoke " + string(p.Key)})
		}})
	}
	return acts
}

// shown reports whether people see the calls that wait: not during a search.
func (w *smallWorld) shown() bool { return w.now.state.Reset == w.now.state.Searched }

// say lets a person decide.
func (w *smallWorld) say(d agent.Decision, stale bool) {
	w.left.Decide--
	if d.Remember != "" {
		w.left.Remember--
	}
	if stale {
		w.left.Stale--
	}
	e := agent.Decided{Decision: d, Time: smallTime}
	w.record(smallTask{event: e, update: true, line: wordLine(d)})
	if w.deliver(e, true) {
		w.facts.Words = append(w.facts.Words, smallWord{Decision: d, Begun: len(w.facts.Begun), Open: stale})
	}
	w.settleWords()
	w.drive()
}

// settleWords makes the words hold that a run has applied.
func (w *smallWorld) settleWords() {
	for i := range w.facts.Words {
		word := &w.facts.Words[i]
		if word.Open {
			applied := func(d agent.Decision) bool {
				return d.Used && d.Key == word.Key && d.Approve == word.Approve && d.Remember == word.Remember
			}
			word.Open = !slices.ContainsFunc(w.now.state.Decisions, applied)
		}
	}
}

// check demands that a call may begin.
func (w *smallWorld) check(c agent.Call, place string) {
	switch {
	case slices.Contains(w.facts.Begun, c.Key):
		panic(broken(fmt.Sprintf("call %s runs twice", c.Key)))
	case slices.Contains(w.facts.Places, place):
		panic(broken(fmt.Sprintf("the call at %s runs twice, under two keys", place)))
	case slices.Contains(w.facts.Expired, c.Key):
		panic(broken(fmt.Sprintf("call %s runs, and its wait had ended", c.Key)))
	case c.Name == "pay":
		w.checkApproval(c)
	}
}

// checkApproval demands that a call that needs an approval may begin.
func (w *smallWorld) checkApproval(c agent.Call) {
	w.settleWords()
	allowed := false
	for _, word := range w.facts.Words {
		if word.Open || word.Result != nil || word.Revokes {
			continue
		}
		if word.Key == c.Key {
			if !word.Approve {
				panic(broken(fmt.Sprintf("call %s runs, and it was denied", c.Key)))
			}
			allowed = true
		}
		revoked := slices.ContainsFunc(w.facts.Words, func(r smallWord) bool { return r.Revokes && r.Key == word.Key })
		earlier := slices.ContainsFunc(w.facts.Waited, func(wait smallWait) bool { return wait.Key == word.Key && wait.Reply < w.replyOf(c) })
		allowed = allowed || word.Remember != "" && !revoked && earlier
	}
	if !allowed {
		panic(broken(fmt.Sprintf("call %s runs, and it has no decision", c.Key)))
	}
}

// holds checks the law in a state.
func (w *smallWorld) holds() {
	w.settleWords()
	w.holdsChildren()
	s := w.now.state
	for _, c := range s.Pending() {
		if w.now.closed || c.WaitsFor() != agent.WaitsForApproval || !w.shown() {
			continue
		}
		if !slices.ContainsFunc(w.facts.Waited, func(wait smallWait) bool { return wait.Key == c.Key }) {
			w.facts.Waited = append(w.facts.Waited, smallWait{c.Key, c.Name, w.replyOf(c)})
		}
		decided := slices.ContainsFunc(w.facts.Words, func(word smallWord) bool {
			return word.Key == c.Key && !word.Open && !word.Revokes && word.Result == nil
		})
		if decided || slices.Contains(w.facts.Begun, c.Key) || slices.Contains(w.facts.Expired, c.Key) {
			panic(broken(fmt.Sprintf("a person is asked again about call %s", c.Key)))
		}
	}
	for _, m := range s.Messages {
		if m.Role != llm.Tool {
			continue
		}
		told := string(m.Key) + m.Content
		result, known := w.facts.Results[m.Key]
		if !known {
			w.facts.Told[told] = true
		} else if m.Content != result && !w.facts.Told[told] {
			panic(broken(fmt.Sprintf("the model is told %q of call %s, whose result is %q", m.Content, m.Key, result)))
		}
	}
}
