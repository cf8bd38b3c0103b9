package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Child is a sub-agent: an agent that does a task for this agent, in a workflow of its own. The model asks for a
// sub-agent by a call. Several calls may wait for the same sub-agent.
type Child struct {
	// Key identifies the sub-agent: see [Key].
	Key Key `json:"key"`
	// ID is the agent ID of the sub-agent. It is also the workflow ID.
	ID string `json:"id"`
	// Agent is the name of the sub-agent's definition.
	Agent string `json:"agent"`
	// Task says what the sub-agent is to do.
	Task string `json:"task"`
	// Instance is a name that the model may choose. It distinguishes sub-agents with the same task.
	Instance string `json:"instance,omitempty"`
	// Caller is the reference of the caller for whom the sub-agent works: see [CallerReference]. It is empty if there was none.
	Caller string `json:"caller,omitempty"`
	// Phase says how far the sub-agent has come.
	Phase ChildPhase `json:"phase,omitempty"`
	// Attachment says whether a call waits for the sub-agent.
	Attachment ChildAttachment `json:"attachment,omitempty"`
	// LateTime is the time of the last result of the sub-agent that came as a late result (see [LateResult]), in Unix
	// milliseconds. It is 0 if there was none.
	LateTime int64 `json:"late_time,omitempty"`
	// Answered is the key of the last call that got a result of the sub-agent, at once or as a late result. It is empty if there was none.
	Answered Key `json:"answered,omitempty"`
	// Spent is what the sub-agent and all agents below it had spent at its end; nil if unknown.
	Spent *Spending `json:"spent,omitempty"`
	// After is the number of messages that the transcript must have before a late answer of the sub-agent may enter
	// the running turn. 0 means that there is no such condition. After is set if the answer could still come when an
	// earlier run of the parent ended. The value is the number of messages at the end of that run.
	After int `json:"after,omitempty"`
	// Grant is the part of the parent's budget that is reserved for the sub-agent. It becomes zero when the sub-agent
	// has reported its spending.
	Grant Grant `json:"grant,omitzero"`
	// Margin is reserved, too, but not granted. What a reply costs is known only when it is there, so a sub-agent may pass its grant by
	// one reply. It becomes zero together with Grant.
	Margin Grant `json:"margin,omitzero"`
}

// ChildPhase says how far a sub-agent has come, as its parent knows. A sub-agent never goes back to an earlier phase, but may skip one.
type ChildPhase string

const (
	// ChildAsked means that the model has asked for the sub-agent, and its workflow may not exist yet.
	ChildAsked ChildPhase = ""
	// ChildRuns means that the sub-agent's workflow has been started, by this run of the parent or by an earlier run. From then on, the parent
	// only waits for the sub-agent. The parent never starts the workflow again, even if the workflow no longer exists.
	ChildRuns ChildPhase = "runs"
	// ChildHasFailed means that the sub-agent has ended without an answer. The answer may still come if the sub-agent is resumed.
	ChildHasFailed ChildPhase = "failed"
	// ChildHasAnswered means that the parent has the sub-agent's answer.
	ChildHasAnswered ChildPhase = "answered"
)

// Ended reports whether the parent knows the end of the sub-agent.
func (p ChildPhase) Ended() bool { return p == ChildHasFailed || p == ChildHasAnswered }

func ended(failed bool) ChildPhase {
	if failed {
		return ChildHasFailed
	}
	return ChildHasAnswered
}

// ChildAttachment says whether a call waits for a sub-agent, and if not, why.
type ChildAttachment string

const (
	// ChildAttached means that a call waits for the sub-agent, or has its result.
	ChildAttached ChildAttachment = ""
	// ChildDetached means that a call for the sub-agent was left unanswered (see [ResultKind.StandsIn]) while the sub-agent goes on. If the
	// model asks for the same work again, the new call waits for the same sub-agent.
	ChildDetached ChildAttachment = "detached"
	// ChildInBackground means that the sub-agent works in the background: see [Tool].Background.
	ChildInBackground ChildAttachment = "background"
	// ChildCancelling means that the driver cancels the sub-agent, because a person has interrupted the turn, or because the model has
	// stopped the sub-agent. A later call for the same work gets a new sub-agent.
	ChildCancelling ChildAttachment = "cancelling"
)

// ChildIdleMS is how long, in milliseconds, a call waits for a sub-agent in which nothing happens. If neither the
// sub-agent nor an agent below it has an event for this time, the call is left unanswered: see [ResultKind.StandsIn]. A
// call with a time limit of its own waits until that limit instead: see [Tool].BudgetMS.
const ChildIdleMS = 15 * 60_000

type childArguments struct {
	// Task says what the sub-agent is to do. It is ignored if Continue is set.
	Task string `json:"task"`
	// Instance is a name that the model chooses. If the model calls with another name, a second sub-agent gets the same
	// task.
	Instance string `json:"instance"`
	// Continue is the handle (see [Key.Handle]) of a known sub-agent. A model that sets it waits for this sub-agent
	// again.
	Continue string `json:"continue"`
}

// ChildSchema is the JSON schema of the arguments with which a model calls a sub-agent.
const ChildSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What the agent is to do. It knows nothing of this conversation, so say all it needs."},` +
	`"instance":{"type":"string","description":"A name of your choice, to have a second agent for a task that is worded the same."},` +
	`"continue":{"type":"string","description":"The handle of an agent that works on, to wait for it again."}},` +
	`"required":["task"],"additionalProperties":false}`

func (s *State) child(key Key) *Child {
	return first(s.Children, func(c *Child) bool { return key != "" && c.Key == key })
}

// Child returns the sub-agent with the given key. The second result reports whether the state has such a sub-agent.
func (s *State) Child(key Key) (Child, bool) {
	if c := s.child(key); c != nil {
		return *c, true
	}
	return Child{}, false
}

// Waiting returns the calls that may still get the result of the sub-agent with the given key. These are the calls
// without a result, and the calls that may still get a late result: see [LateResult].
func (s *State) Waiting(child Key) []Call {
	var waiting []Call
	for _, c := range slices.Concat(s.Calls, s.Unanswered) {
		if c.Child == child && (c.Result == nil || c.awaitsLate()) {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

const (
	// maxRunningChildren is the largest number of sub-agents of one agent that have not ended. At this number, the
	// agent starts no further sub-agent. Temporal refuses a workflow task that would make more than 2,000 pending
	// child workflows.
	maxRunningChildren = 1000
	// maxIDBytes is the largest size of a workflow ID that Temporal accepts.
	maxIDBytes = 1000
)

// cannotStart returns the reason why this agent cannot have one more sub-agent now, as a text for the model. It returns
// "" if there is no such reason. The parameter `part` is the share of the budget that the sub-agent would get.
func (s *State) cannotStart(tool Tool, part share) string {
	running := 0
	for _, c := range s.Children {
		if !c.Phase.Ended() {
			running++
		}
	}
	limit := s.Definition.Limits.background()
	switch size := len(ChildID(s.AgentID, tool.Agent, Key(KindChild+"-"+strings.Repeat("0", 32)))); {
	case running >= maxRunningChildren:
		return textTooManyAgents(maxRunningChildren)
	case size > maxIDBytes:
		return textLongID(size, maxIDBytes)
	case part.refusal != "":
		return part.refusal
	case tool.Background && len(s.inBackground()) >= limit:
		return textTooManyInBackground(limit)
	}
	return ""
}

// openChild decides which sub-agent the call c waits for. The first rule that fits decides:
//
//   - If the arguments contain the handle (see [Key.Handle]) of a known sub-agent, the call waits for this sub-agent.
//   - If an earlier call asked for the same work (see [childInput]), and its sub-agent is detached or works in the background (see
//     [ChildDetached] and [ChildInBackground]), the call gets the same sub-agent.
//   - Otherwise the call gets a new sub-agent, with the given share of the budget. An unknown handle, an empty task or a limit gives an
//     error result instead.
//
// If a late result of a known sub-agent waits in the queue, the call gets this result at once. A call of a tool with [Tool].Background
// does not wait (see [State.background]), unless its arguments contain a handle.
func (s *State) openChild(c *Call, tool Tool, part share, now int64) {
	refuse := func(text string) { c.Result = &Result{Content: text, Kind: Errored, Time: now} }
	if s.Depth >= s.DepthLimit() {
		refuse(textDepth(s.Depth))
		return
	}
	var in childArguments
	if readArguments(c.Arguments, &in) != nil {
		refuse(textBadTask(tool.Name, "give them as {\"task\": …} with text values"))
		return
	}
	input := childInput{Agent: tool.Agent, Task: in.Task, Instance: in.Instance, Caller: s.callerReference()}
	var known *Child
	switch {
	case in.Continue != "":
		known = first(s.Children, func(c *Child) bool { return c.Agent == tool.Agent && c.Key.Handle() == in.Continue })
		if known == nil {
			refuse(textBadTask(tool.Name, "there is no agent with that handle in \"continue\""))
			return
		}
	case strings.TrimSpace(in.Task) == "":
		refuse(textBadTask(tool.Name, "\"task\" is empty"))
		return
	default:
		known = s.unansweredChild(input)
	}
	if known == nil {
		if why := s.cannotStart(tool, part); why != "" {
			// Another run may have had room. The driver asks that run first: see [State.assign].
			s.stop(c, Result{Content: why, Kind: Errored, Time: now})
			return
		}
		c.Child = s.addChild(input, part)
		if tool.Background {
			s.background(c, now)
		}
		return
	}
	c.Child = known.Key
	known.attach()
	s.Queue = slices.DeleteFunc(s.Queue, func(m QueuedMessage) bool { return m.Late != nil && m.Late.For == c.Key })
	if late := s.lateOf(known.Key); late != nil {
		result := late.Late.Result
		result.Time = now
		if s.stop(c, result); c.Result != nil {
			s.took(c)
		}
	} else if tool.Background && in.Continue == "" {
		s.background(c, now)
	}
}

func (c *Child) input() childInput { return childInput{c.Agent, c.Task, c.Instance, c.Caller} }

// DepthLimit returns the largest depth at which the agent may start sub-agents: see [Limits].Depth. Without a definition, it panics.
func (s *State) DepthLimit() int {
	if s.MaxDepth != nil {
		return *s.MaxDepth
	}
	return s.Definition.Limits.Depth
}

// maxChildCounts is the largest number of entries in [State].ChildCounts. If there are more, [State.dropChildCounts]
// removes half of them.
const maxChildCounts = 2000

// addChild adds a new sub-agent to `s.Children` and returns its key. The key is a hash of the input and of the number
// of earlier sub-agents with the same input. Therefore a second sub-agent with the same input gets another key. The
// number comes from `s.ChildCounts`, which also counts the sub-agents that were removed from `s.Children`.
func (s *State) addChild(input childInput, part share) Key {
	id := digest(input)[:32]
	if s.ChildCounts == nil {
		s.ChildCounts = map[string]int{}
	}
	ordinal, counted := s.ChildCounts[id]
	if !counted {
		ordinal = s.ChildCountFloor
	}
	key := s.childKey(input, ordinal)
	s.ChildCounts[id] = ordinal + 1
	if len(s.ChildCounts) > maxChildCounts {
		s.dropChildCounts()
	}
	s.Children = append(s.Children, Child{
		Key: key, ID: ChildID(s.AgentID, input.Agent, key),
		Agent: input.Agent, Task: input.Task, Instance: input.Instance, Caller: input.Caller, Grant: part.grant, Margin: part.margin,
	})
	return key
}

// assign makes the call c wait for the sub-agent that it had in another run. An empty key means that it had none there. The parameter
// `grant` is what the other run has reserved for the sub-agent.
//
// This is necessary because the choice of a sub-agent depends on what a run knows of its other sub-agents and of its budget when the
// reply comes. A run that a reset began may know more.
func (s *State) assign(c *Call, child Key, grant Grant, now int64) {
	if c.Child == child {
		return
	}
	before := c.Child
	c.Child = ""
	s.removeChild(before)
	var in childArguments
	_ = readArguments(c.Arguments, &in) // openChild has read them
	tool, _ := s.Definition.Tool(c.Name)
	if child != "" && s.child(child) == nil {
		input := childInput{Agent: tool.Agent, Task: in.Task, Instance: in.Instance, Caller: s.callerReference()}
		if added := s.addChild(input, share{grant: grant}); added != child {
			// The other run had sub-agents of which this one knows nothing, so the call keeps what it had.
			if c.Child = before; added != before {
				s.removeChild(added)
			}
			return
		}
	}
	c.Child, c.Background, c.Stopped, c.Search = child, false, nil, false
	if child != "" && tool.Background && in.Continue == "" {
		s.background(c, now)
	}
}

// removeChild undoes [State.addChild], unless the sub-agent was started or a call waits for it.
func (s *State) removeChild(key Key) {
	i := slices.IndexFunc(s.Children, func(c Child) bool { return c.Key == key && c.Phase == ChildAsked })
	if i < 0 || slices.ContainsFunc(slices.Concat(s.Calls, s.Unanswered), func(c Call) bool { return c.Child == key }) {
		return
	}
	input := s.Children[i].input()
	s.Children = slices.Delete(s.Children, i, i+1)
	if id := digest(input)[:32]; s.childKey(input, s.ChildCounts[id]-1) == key {
		s.ChildCounts[id]--
	}
}

// dropChildCounts removes half of the entries of `s.ChildCounts`: those with the smallest counts. It raises
// `s.ChildCountFloor` to the greatest removed count. For an input without an entry, [State.addChild] counts from this
// floor. Therefore two sub-agents with the same input never get the same number.
func (s *State) dropChildCounts() {
	ids := slices.SortedFunc(maps.Keys(s.ChildCounts), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.ChildCounts[a], s.ChildCounts[b]), strings.Compare(a, b))
	})
	for _, id := range ids[:len(ids)/2] {
		s.ChildCountFloor = max(s.ChildCountFloor, s.ChildCounts[id])
		delete(s.ChildCounts, id)
	}
}

// maxDoneChildren is the number of ended sub-agents that [State.Drop] keeps for display only. No call and no message
// refers to these sub-agents.
const maxDoneChildren = 20

// dropChildren keeps `s.Children` small. It removes ended sub-agents to which no call and no message refers, except the newest
// [maxDoneChildren]. It also keeps a sub-agent that a later call for the same work may get: see [Child.detached]. If a removed sub-agent
// never reported its spending, its whole grant (see [Grant]) and its margin count as spent.
func (s *State) dropChildren() {
	kept := map[Key]bool{}
	for _, c := range slices.Concat(s.Calls, s.Unanswered) {
		kept[c.Child], kept[c.To] = true, true
	}
	for _, m := range s.Queue {
		if m.Late != nil {
			kept[m.Late.Child] = true
		}
	}
	done := 0
	var children []Child // a new slice, because a copy of the state may share the old one
	for _, c := range slices.Backward(s.Children) {
		if c.Phase.Ended() && !c.detached() && !kept[c.Key] {
			if done++; done > maxDoneChildren {
				s.Usage.Descendants = s.Usage.Descendants.Add(c.Grant.spending()).Add(c.Margin.spending())
				s.ChildrenDropped++
				continue
			}
		}
		children = append(children, c)
	}
	slices.Reverse(children)
	s.Children = children
}

// ChildCount returns the number of sub-agents that this agent has asked for. Sub-agents that were removed from the
// state count, too.
func (s *State) ChildCount() int { return s.ChildrenDropped + len(s.Children) }

// unansweredChild returns the oldest sub-agent with the given input that a further call can get: no call waits for it (see
// [State.attachment]), and nobody has stopped it. It returns nil if there is none.
func (s *State) unansweredChild(input childInput) *Child {
	return first(s.Children, func(c *Child) bool {
		w := s.attachment(*c)
		return (w == ChildDetached || w == ChildInBackground) && c.input() == input
	})
}

// attachment returns the attachment of the sub-agent. If the driver still asks other runs about the sub-agent's call, but the call already
// has a result that stands in (see [Call].Stopped), attachment returns what the attachment will be with this result. So a later call for
// the same work gets this sub-agent, as it does in a run that asks no other run.
func (s *State) attachment(child Child) ChildAttachment {
	for i := range s.Calls {
		if c := &s.Calls[i]; child.Attachment == ChildAttached && c.Child == child.Key && c.Stopped != nil && c.Stopped.Kind.StandsIn() {
			s.detach(&child, c)
		}
	}
	return child.Attachment
}

// detach records that the call c no longer waits for the sub-agent.
func (s *State) detach(child *Child, c *Call) {
	if child.Attachment != ChildAttached {
		return
	}
	child.Attachment = ChildDetached
	if tool, _ := s.Definition.Tool(c.Name); tool.Background || c.Background {
		child.Attachment = ChildInBackground
	}
}

// attach records that a call waits for the sub-agent or has its result. It has no effect on a sub-agent that is being cancelled.
func (c *Child) attach() {
	if c.detached() {
		c.Attachment = ChildAttached
	}
}

// detached reports whether no call waits for the sub-agent, which goes on.
func (c *Child) detached() bool {
	return c.Attachment == ChildDetached || c.Attachment == ChildInBackground
}

// Unwatched reports whether the sub-agent has not ended and no call waits for it. The driver still waits for its end, because its result
// can become a late result: see [LateResult].
func (c *Child) Unwatched() bool { return c.Attachment != ChildAttached && !c.Phase.Ended() }

// lateOf returns the message in the queue with a late result (see [LateResult]) of the given sub-agent. A new call for the sub-agent may
// get this result. lateOf ignores a late result that is reserved for another call: see [LateResult].For. It returns nil if it finds none.
func (s *State) lateOf(child Key) *QueuedMessage {
	return first(s.Queue, func(m *QueuedMessage) bool {
		return child != "" && m.Late != nil && m.Late.Child == child && m.Late.For == ""
	})
}

// took records that the call c has got the answer of its sub-agent. It removes the message in the queue that brings the same answer.
func (s *State) took(c *Call) {
	s.child(c.Child).Answered = c.Key
	if m := s.lateOf(c.Child); m != nil {
		id := m.ID
		s.Queue = slices.DeleteFunc(s.Queue, func(m QueuedMessage) bool { return m.ID == id })
	}
}
