package agent_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A smallWorld is one agent with all its runs, the tools that it calls, and the people who decide. It is an exact model of what
// Temporal and the driver do with the core, for lives that are small enough to try all of them: see explore_test.go.
//
// What it assumes of Temporal, and the tests that hold it against a real server:
//
//   - A reset to a task copies what came before the completion of the task. The new run replays the tasks before exactly. Its first
//     own task begins with the results that had arrived for the task: e2e/recovery TestRunThatWasResetIsResetAtEachOfItsTasks.
//   - The updates that the run had accepted from this task on are delivered again, together, in the first own task. Those of other runs
//     are not: e2e/calls TestDecisionsHoldInEveryRun.
//   - An activity that was scheduled before and has no result is dispatched again, and its worker first searches the earlier runs:
//     e2e/recovery TestResetWhileAToolRuns.
type smallWorld struct {
	*smallKind
	runs  []*smallRun
	now   *smallRun // the newest run
	left  smallBounds
	facts smallFacts
	story *smallStep
	// packed is the state of the newest run as JSON. A world that waits to be explored has only this, because millions of them wait.
	packed []byte
}

// smallKind says which lives are tried.
type smallKind struct {
	name    string
	replies [][]string // the tools that each reply of the model calls
	bounds  smallBounds
	// states is how many states are tried, those of the shortest lives. 0 means all.
	states int
	// background is the limit of sub-agents in the background; 0 means the usual one.
	background int
}

// smallBounds limits how often each thing happens in one life.
type smallBounds struct {
	Decide, Remember, Revoke, Timeout, Interrupt, Steer, Cancel, Resume, Reset int
	// Stale bounds the decisions on what another run has shown. Idle bounds the tasks that change nothing.
	Stale, Idle int
	// Overdue bounds how many waits for sub-agents reach their time limit. Forget bounds how many histories of sub-agents are deleted.
	Overdue, Forget int
}

// smallFacts is what really happened, whatever the runs know of it.
type smallFacts struct {
	Words   []smallWord
	Begun   []agent.Key // calls whose tools have run, oldest first
	Places  []string    // of these calls
	Results map[agent.Key]string
	Expired []agent.Key     // calls whose wait has reached its limit
	Waited  []smallWait     // calls that have waited for an approval
	Told    map[string]bool // what the model was told of calls that had no result then
	Work    smallWork
}

// smallWord is what a person has decided. A person who decides after a reset, on a call that another run showed, may be too late:
// such a word holds only when a run has applied it.
type smallWord struct {
	agent.Decision
	Revokes bool // it revokes the permission with the key
	Open    bool
	Begun   int // number of calls that had begun
}

type smallWait struct {
	Key   agent.Key
	Tool  string
	Reply int // number of the reply, from 0
}

type smallStep struct {
	text   string
	before *smallStep
}

type smallRun struct {
	id     string
	base   *smallRun // the run that a reset has copied
	source *smallRun // the run whose state a resume has read
	tasks  []smallTask
	state  *agent.State
	// flights are the activities that have no result yet. begun are all that were scheduled, also in tasks that a reset has copied.
	flights smallFlights
	begun   map[agent.Key]bool
	sent    []agent.Event // the updates that their senders sent to this run
	found   []agent.Event // the updates that a search has found
	closed  bool
	family  smallFamily
	hash    uint64
}

// smallFlights are activities by their keys. A flight never changes: it is replaced.
type smallFlights map[agent.Key]*smallFlight

type smallFlight struct {
	call  agent.Call
	lost  bool // another run has begun the call
	look  bool
	reset string // agent.State.Reset when the activity was scheduled

	// These are for sub-agents: see the constants for the stages.
	stage   string
	owner   agent.Key
	unasked []agent.Call
	end     smallEnded
}

// smallTask is a workflow task: what it brings, and what the run was before it.
type smallTask struct {
	event   agent.Event // nil for the first task of a run
	update  bool        // a reset delivers the event again
	line    string      // of a script
	state   []byte
	flights smallFlights
	begun   map[agent.Key]bool
	family  smallFamily
	found   int
}

const smallTime = 1000

func newSmallWorld(kind *smallKind) *smallWorld {
	w := &smallWorld{smallKind: kind, left: kind.bounds, facts: smallFacts{Results: map[agent.Key]string{}, Told: map[string]bool{}}}
	w.facts.Work = smallWork{Places: map[string]agent.Key{}, Ends: map[agent.Key]string{}, Heard: map[string]string{}, Asked: map[int]agent.Key{}}
	w.open(&smallRun{id: "A", state: w.birth()})
	w.task(smallTask{})
	return w
}

func (w *smallWorld) birth() *agent.State {
	return agent.New("a", agent.Start{
		KeyVersion: agent.KeyVersion, Incarnation: "l", Agent: "x", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"},
	}, smallTime)
}

// definition returns the definition of the agent. Calls of pay and wire need an approval, and must not run twice.
func (w *smallWorld) definition() agent.Definition {
	limit := int64(0)
	if w.bounds.Timeout > 0 {
		limit = 60_000
	}
	d := agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Tools: []agent.Tool{{Name: "pay", Approval: true, ApprovalMS: limit}, {Name: "count"}, {Name: agent.AskUser, Effect: agent.EffectExternal}},
	}
	if d.Tools = append(d.Tools, w.childTools()...); w.family() {
		d.Limits.Depth, d.Limits.Background = 1, w.background
	}
	return d
}

// pack replaces the state of the newest run by its JSON, and unpack undoes this.
func (w *smallWorld) pack() {
	text, err := json.Marshal(w.now.state)
	if err != nil {
		panic(err)
	}
	w.packed, w.now.state = text, nil
}

func (w *smallWorld) unpack() { w.now.state = unpacked(w.packed) }

func unpacked(text []byte) *agent.State {
	s := new(agent.State)
	if err := json.Unmarshal(text, s); err != nil {
		panic(err)
	}
	return s
}

// clone returns a world that shares the closed runs with w.
func (w *smallWorld) clone() *smallWorld {
	c := *w
	c.runs = slices.Clone(w.runs)
	run := *w.now
	run.state = unpacked(w.packed)
	run.tasks, run.sent, run.found = slices.Clip(run.tasks), slices.Clip(run.sent), slices.Clip(run.found)
	run.flights, run.begun, run.family = maps.Clone(run.flights), maps.Clone(run.begun), run.family.clone()
	c.now = &run
	c.runs[len(c.runs)-1] = c.now
	c.facts.Words = slices.Clone(w.facts.Words)
	c.facts.Results, c.facts.Told = maps.Clone(w.facts.Results), maps.Clone(w.facts.Told)
	c.facts.Begun, c.facts.Places = slices.Clip(w.facts.Begun), slices.Clip(w.facts.Places)
	c.facts.Work = w.facts.Work.clone()
	c.facts.Expired, c.facts.Waited = slices.Clip(w.facts.Expired), slices.Clip(w.facts.Waited)
	return &c
}

// open makes run the newest one.
func (w *smallWorld) open(run *smallRun) {
	if run.flights == nil {
		run.flights, run.begun = smallFlights{}, map[agent.Key]bool{}
		run.family = smallFamily{asked: map[agent.Key]string{}, late: map[agent.Key]bool{}}
	}
	w.now, w.packed = run, nil
	w.runs = append(w.runs, run)
}

// task carries out one task of the newest run: it applies the event and does what the agent then asks for.
func (w *smallWorld) task(t smallTask) {
	w.record(t)
	w.deliver(t.event, t.update)
	w.drive()
}

// record adds a task to the newest run.
func (w *smallWorld) record(t smallTask) {
	run := w.now
	text := w.packed // of the world before the act, so that both share it
	if w.packed = nil; text == nil {
		var err error
		if text, err = json.Marshal(run.state); err != nil {
			panic(err)
		}
	}
	t.state, t.flights, t.begun, t.found = text, maps.Clone(run.flights), maps.Clone(run.begun), len(run.found)
	t.family = run.family.clone()
	run.tasks = append(run.tasks, t)
	h := fnv.New64a()
	fmt.Fprint(h, run.hash, t.line)
	h.Write(text)
	run.hash = h.Sum64()
}

// deliver applies an event that comes from outside. Like the driver, it refuses a decision that the agent does not accept.
func (w *smallWorld) deliver(e agent.Event, fresh bool) (accepted bool) {
	s := w.now.state
	if w.deliverChild(e) {
		return true
	}
	switch e := e.(type) {
	case nil:
		return false
	case agent.Decided:
		unsearched := s.Reset != s.Searched && !s.HasResult(e.Decision.Key)
		if !unsearched && s.AcceptsDecision(e.Decision) != nil {
			return false
		}
	case agent.MessagesFound:
		for _, d := range e.Decisions {
			w.now.found = append(w.now.found, agent.Decided{Decision: d, Time: smallTime})
		}
		for _, m := range e.Messages {
			w.now.found = append(w.now.found, agent.MessageReceived{Message: m, Time: smallTime})
		}
		for _, key := range e.Revoked {
			w.now.found = append(w.now.found, agent.PermissionRevoked{Key: key})
		}
	}
	if changed := s.Apply(e); !changed {
		return false
	}
	if d, ok := e.(agent.Decided); ok {
		d.Decision.Early = s.Reset != s.Searched
		e = d
	}
	if fresh {
		w.now.sent = append(w.now.sent, e)
	}
	return true
}

// drive does what the driver does in a task.
func (w *smallWorld) drive() {
	s := w.now.state
	for {
		if w.searchesLate() {
			return
		}
		s.Advance(smallTime)
		step := s.Next()
		w.watchChildren(step)
		switch step := step.(type) {
		case agent.FindMessages:
			w.schedule(step.Key, smallFlight{})
			return
		case agent.Load:
			s.Apply(agent.DefinitionLoaded{Key: step.Key, Definition: w.definition()})
			continue
		case agent.CallModel:
			s.Apply(agent.ModelAsked{Key: step.Key})
			w.schedule(step.Key, smallFlight{})
		case agent.RunTools:
			for _, c := range step.Calls {
				if c.Search && w.family() {
					w.recall(c, "")
				} else if c.Search {
					w.schedule(agent.FindKey(c.Key), smallFlight{call: c, look: true})
				}
			}
			for _, c := range step.Running(agent.CallsAtOnce, func(c agent.Call) bool { _, flies := w.now.flights[c.Key]; return flies }) {
				if c.Child != "" {
					w.waitForChild(c)
					continue
				}
				w.run(c)
			}
		case agent.Finish:
			w.now.closed = true
			clear(w.now.flights)
			return
		}
		for key := range w.now.flights { // as driver.cancelUnwanted
			if kind := key.Kind(); (kind == agent.KindModel || kind == agent.KindTool) && !agent.Wants(s.Next(), key) && !agent.Wants(step, key) {
				delete(w.now.flights, key)
			}
		}
		return
	}
}

// schedule starts an activity, unless it is in flight.
func (w *smallWorld) schedule(key agent.Key, f smallFlight) bool {
	if _, flies := w.now.flights[key]; flies {
		return false
	}
	f.reset = w.now.state.Reset
	w.now.flights[key] = &f
	w.now.begun[key] = true
	return true
}

// run starts a tool call. The tool itself runs only if no run has begun the call, as far as the activity can know.
func (w *smallWorld) run(c agent.Call) {
	elsewhere := slices.ContainsFunc(w.runs, func(r *smallRun) bool { return r.begun[c.Key] })
	f := smallFlight{call: c, lost: elsewhere && w.now.state.MayRecall(c.Key)}
	if !w.schedule(c.Key, f) || f.lost {
		return
	}
	place := fmt.Sprint(w.replyOf(c), ".", c.Position)
	w.check(c, place)
	w.facts.Begun, w.facts.Places = append(w.facts.Begun, c.Key), append(w.facts.Places, place)
}

// replyOf returns the number of the reply that asks for an open call, from 0.
func (w *smallWorld) replyOf(agent.Call) int { return w.repliesSoFar() - 1 }

func (w *smallWorld) repliesSoFar() int {
	n := 0
	for _, m := range w.now.state.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// end returns the result of an activity.
func (w *smallWorld) end(key agent.Key) (e agent.Event, line string) {
	f := w.now.flights[key]
	switch {
	case f.look:
		return w.lookedUp(f.call)
	case key.Kind() == agent.KindMessages:
		return w.search()
	case key.Kind() == agent.KindModel:
		reply := agent.ModelReplied{Key: key, Time: smallTime}
		known := slices.ContainsFunc(w.runs, func(r *smallRun) bool { return r != w.now && r.replied(key) })
		reply.Recalled, reply.New = known, !known && w.now.state.MayRecall(key) && f.reset == w.now.state.Reset
		n := w.repliesSoFar()
		if n >= len(w.replies) {
			reply.Reply.Message.Content = "done"
			return reply, "say " + string(key) + " done"
		}
		for i, name := range w.replies[n] {
			reply.Reply.Message.ToolCalls = append(reply.Reply.Message.ToolCalls, w.smallCall(fmt.Sprint("c", n, i), name))
		}
		calls, err := json.Marshal(reply.Reply.Message.ToolCalls)
		if err != nil {
			panic(err)
		}
		return reply, "call " + string(key) + " " + string(calls)
	}
	if result, known := w.facts.Results[key]; known {
		return agent.ToolFinished{Key: key, Recalled: true, Result: agent.Result{Content: result, Time: smallTime}}, "tool " + string(key) + " " + result
	}
	for _, run := range slices.Backward(w.runs) {
		if told := run.state.CallRecord(agent.Call{Key: key}).Result; f.lost && run != w.now && told != nil {
			return agent.ToolFinished{Key: key, Recalled: true, Result: *told}, "tool " + string(key) + " " + told.Content
		}
	}
	if f.lost {
		return agent.ToolFinished{Key: key, Result: agent.ToolLost(smallTime)}, "lost " + string(key)
	}
	w.facts.Results[key] = "result of " + string(key)[:9]
	return agent.ToolFinished{Key: key, Result: agent.Result{Content: w.facts.Results[key], Time: smallTime}}, "tool " + string(key) + " " + w.facts.Results[key]
}

func (r *smallRun) replied(key agent.Key) bool {
	return slices.ContainsFunc(r.tasks, func(t smallTask) bool {
		e, ok := t.event.(agent.ModelReplied)
		return ok && e.Key == key
	})
}

// search returns what activities.FindMessages finds.
func (w *smallWorld) search() (agent.Event, string) {
	bases, past := map[*smallRun]bool{}, map[*smallRun]bool{}
	for run := w.now; run != nil; run = run.source {
		past[run] = true
		for base := run.base; base != nil; base = base.base {
			bases[base] = true
		}
	}
	found := agent.MessagesFound{Run: w.now.state.Reset, Time: smallTime, Places: map[string]agent.Place{}}
	for _, run := range w.runs {
		if !past[run] {
			agent.AddPlaces(found.Places, run.state.Places())
		}
	}
	var all []agent.Event
	for run := range slices.Values(w.runs) {
		if bases[run] && !past[run] {
			all = append(all, run.found...)
			for _, e := range run.sent {
				if _, decision := e.(agent.Decided); decision {
					all = append(all, e)
				}
			}
		}
	}
	for run := range slices.Values(w.runs) {
		if !bases[run] && !past[run] {
			all = append(append(all, run.found...), run.sent...)
		}
	}
	line := "found"
	for _, e := range all {
		switch e := e.(type) {
		case agent.Decided:
			same := func(d agent.Decision) bool {
				return d.Key == e.Decision.Key && (d.Result == nil) == (e.Decision.Result == nil)
			}
			if !slices.ContainsFunc(found.Decisions, same) {
				found.Decisions = append(found.Decisions, e.Decision)
				line += " " + wordLine(e.Decision)
			}
		case agent.PermissionRevoked:
			found.Revoked = append(found.Revoked, e.Key)
			line += " revoke " + string(e.Key)
		case agent.MessageReceived:
			if !slices.ContainsFunc(found.Messages, func(m agent.QueuedMessage) bool { return m.ID == e.Message.ID }) {
				found.Messages = append(found.Messages, e.Message)
				line += " message " + e.Message.ID
			}
		}
	}
	return found, line
}

// lookedUp returns what activities.FindCall finds about a call.
func (w *smallWorld) lookedUp(c agent.Call) (agent.Event, string) {
	var all agent.CallRecord
	for _, run := range slices.Backward(w.runs) {
		if run == w.now {
			continue
		}
		r := run.state.CallRecord(c)
		if r.Decider == nil {
			r.Decider = all.Decider
		}
		if all = r; r.Result != nil {
			break
		}
	}
	return agent.CallFound{Key: c.Key, Record: all, Time: smallTime}, fmt.Sprintf("recalled %s %v %v", c.Key, all.Result != nil, all.Decider != nil)
}

// reset begins a new run with the tasks of another one before the given one. In its first own task, the updates that are delivered again
// may come before the results that had arrived.
func (w *smallWorld) reset(of *smallRun, task int, updatesFirst bool) {
	w.now.closed = true
	clear(w.now.flights)
	t := of.tasks[task]
	run := &smallRun{
		id: string(rune('A' + len(w.runs))), base: of, source: of.source, tasks: slices.Clip(of.tasks[:task]), found: slices.Clip(of.found[:t.found]),
		flights: maps.Clone(t.flights), begun: maps.Clone(t.begun), family: t.family.clone(), hash: of.hash + uint64(task),
	}
	for key, f := range run.flights {
		lost := *f
		lost.lost = true // its worker finds that another run scheduled it
		run.flights[key] = &lost
	}
	w.open(run)
	rewound := agent.Rewound{Run: run.id}
	run.state = new(agent.State)
	if err := json.Unmarshal(t.state, run.state); err != nil {
		panic(err)
	}
	maps.DeleteFunc(run.family.late, func(_ agent.Key, ended bool) bool { return ended })
	w.record(smallTask{line: "rewound " + run.id, event: rewound})
	run.state.Apply(rewound)
	run.state.Apply(agent.TimeRestarted{Time: smallTime})
	if !updatesFirst {
		w.arrived(t)
	}
	for _, t := range of.tasks[task:] {
		if t.update {
			w.deliver(t.event, false)
			run.tasks = append(run.tasks, smallTask{line: t.line, event: t.event, update: true}) // no task of its own
		}
	}
	if updatesFirst {
		w.arrived(t)
	}
	w.drive()
}

// arrived applies the event of the task to which the run was reset, unless a reset delivers it again or takes it back.
func (w *smallWorld) arrived(t smallTask) {
	if t.update {
		return
	}
	switch e := t.event.(type) {
	case agent.Resumed, agent.Rewound, agent.WaitEnded, nil:
		return
	case agent.ChildGivenUp:
		w.restartLimit(e.Key)
		return
	case agent.ModelReplied:
		return // it waits for the search
	case agent.ToolFinished:
		delete(w.now.flights, e.Key)
	case agent.CallFound:
		delete(w.now.flights, agent.FindKey(e.Key))
	case agent.MessagesFound:
		for key := range w.now.flights {
			if key.Kind() == agent.KindMessages {
				delete(w.now.flights, key)
			}
		}
	}
	w.deliver(t.event, false)
}

// resume begins a new run with the state of the newest one.
func (w *smallWorld) resume() {
	before := w.now
	before.closed = true
	run := &smallRun{id: string(rune('A' + len(w.runs))), source: before, state: clone(before.state), hash: before.hash}
	w.open(run)
	e := agent.Resumed{RunID: before.id, Time: smallTime}
	run.state.Apply(e)
	w.record(smallTask{line: "resume " + before.id, event: e})
	w.drive()
}

func wordLine(d agent.Decision) string {
	switch {
	case d.Result != nil:
		return fmt.Sprintf("give %s %s", d.Key, d.Result.Content)
	case d.Remember != "":
		return fmt.Sprintf("remember %s %s", d.Key, d.Remember)
	case d.Approve:
		return fmt.Sprintf("decide %s yes", d.Key)
	}
	return fmt.Sprintf("decide %s no", d.Key)
}

// script returns the tasks of the newest run as the lines of a script of TestScripts, with short names for keys.
func (w *smallWorld) script() string {
	names, counts := map[string]string{}, map[string]int{}
	var lines []string
	for _, t := range w.now.tasks {
		if t.line == "" {
			continue
		}
		words := strings.Fields(t.line)
		for i, word := range words {
			kind, digits, ok := strings.Cut(word, "-")
			if !ok || len(digits) != 32 {
				continue
			}
			if names[word] == "" {
				counts[kind]++
				names[word] = fmt.Sprint(kind, counts[kind])
			}
			words[i] = names[word]
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}
