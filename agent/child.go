package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Child is a sub-agent that this agent has asked for. Many calls may wait for one.
type Child struct {
	Key Key `json:"key"`
	// ID is the sub-agent's agent ID, which is its workflow ID.
	ID       string `json:"id"`
	Agent    string `json:"agent"`
	Task     string `json:"task"`
	Instance string `json:"instance,omitempty"`
	// Interrupted says that the model was told that this child goes on, and may
	// ask for it again.
	Interrupted bool `json:"interrupted,omitempty"`
	// Done says that its result has come.
	Done bool `json:"done,omitempty"`
	// Grant is what it may spend, until it has told what it did.
	Grant Grant `json:"grant,omitzero"`
}

// ChildIdleMS is how long nothing may happen in a sub-agent's tree, in milliseconds, before a call
// that waits for it without a budget is answered as interrupted.
const ChildIdleMS = 15 * 60_000

// childArguments are what the model gives to a sub-agent.
type childArguments struct {
	Task     string `json:"task"`
	Instance string `json:"instance"`
	Continue string `json:"continue"`
}

// ChildSchema is the JSON schema of the arguments of a sub-agent's tool.
const ChildSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What the agent is to do. It knows nothing of this conversation, so say all it needs."},` +
	`"instance":{"type":"string","description":"A name of your choice, to have a second agent for a task that is worded the same."},` +
	`"continue":{"type":"string","description":"The handle from an interrupted result, to wait for that agent again."}},` +
	`"required":["task"],"additionalProperties":false}`

func (s *State) child(key Key) *Child {
	if key == "" {
		return nil
	}
	for i := range s.Children {
		if s.Children[i].Key == key {
			return &s.Children[i]
		}
	}
	return nil
}

// Child returns the sub-agent with the given key.
func (s *State) Child(key Key) (Child, bool) {
	if c := s.child(key); c != nil {
		return *c, true
	}
	return Child{}, false
}

// openChild decides which sub-agent a call waits for: one that the model was
// told is interrupted, or a new one.
func (s *State) openChild(c *Call, tool Tool, grant Grant, now int64) {
	refuse := func(text string) { c.Result = &Result{Content: text, IsError: true, Time: now} }
	if s.Depth >= s.depthLimit() {
		refuse(textDepth(s.Depth))
		return
	}
	var in childArguments
	d := json.NewDecoder(bytes.NewReader([]byte(c.Arguments)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		refuse(textBadTask(tool.Name, "give them as {\"task\": …} with text values"))
		return
	}
	input := childInput{Agent: tool.Agent, Task: in.Task, Instance: in.Instance}
	var known *Child
	switch {
	case in.Continue != "":
		if known = s.childByHandle(tool.Agent, in.Continue); known == nil {
			refuse(textBadTask(tool.Name, "there is no agent with that handle in \"continue\""))
			return
		}
	case strings.TrimSpace(in.Task) == "":
		refuse(textBadTask(tool.Name, "\"task\" is empty"))
		return
	default:
		known = s.interruptedChild(input)
	}
	if known == nil {
		c.Child = s.mint(input, grant)
		return
	}
	c.Child = known.Key
	known.Interrupted = false
	if late := s.takeLate(known.Key); late != nil {
		late.Time = now
		c.Result = late
	}
}

func (s *State) depthLimit() int {
	if s.MaxDepth != nil {
		return *s.MaxDepth
	}
	return s.Definition.Limits.Depth
}

// mint makes a new sub-agent. Asking for the same again makes another one, told
// apart by how many there are: a tally in the state, which compaction does not touch.
func (s *State) mint(input childInput, grant Grant) Key {
	id := digest(input)[:32]
	if s.Minted == nil {
		s.Minted = map[string]int{}
	}
	key := s.childKey(input, s.Minted[id])
	s.Minted[id]++
	s.Children = append(s.Children, Child{
		Key: key, ID: ChildID(s.AgentID, input.Agent, key),
		Agent: input.Agent, Task: input.Task, Instance: input.Instance, Grant: grant,
	})
	return key
}

// interruptedChild returns the oldest sub-agent with that input that the model
// knows as interrupted.
func (s *State) interruptedChild(input childInput) *Child {
	for i := range s.Children {
		c := &s.Children[i]
		if c.Interrupted && (childInput{c.Agent, c.Task, c.Instance}) == input {
			return c
		}
	}
	return nil
}

// handle is how an interrupted result names the sub-agent to the model.
func (c *Child) handle() string { return string(c.Key[len(KindChild)+1:])[:8] }

func (s *State) childByHandle(agent, handle string) *Child {
	for i := range s.Children {
		if c := &s.Children[i]; c.Agent == agent && c.handle() == handle {
			return c
		}
	}
	return nil
}

// takeLate removes a late result of the child from the inbox and returns it.
func (s *State) takeLate(child Key) *Result {
	i := slices.IndexFunc(s.Inbox, func(m Incoming) bool { return m.Late != nil && m.Late.Child == child })
	if i < 0 {
		return nil
	}
	result := s.Inbox[i].Late.Result
	s.Inbox = slices.Delete(s.Inbox, i, i+1)
	return &result
}

func (s *State) childFinished(e ChildFinished) bool {
	child := s.child(e.Key)
	if child == nil {
		return false
	}
	changed := false
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Child == e.Key && s.answer(c, e.Result) {
			changed = true
		}
	}
	if e.Reattached && (changed || !child.Done) {
		s.Usage.Reattached++
	}
	if changed {
		child.Interrupted = false
	} else if !child.Done || child.Interrupted {
		changed = s.repairLater(e.Result, func(c Call) bool { return c.Child == e.Key })
	}
	// Of several calls that were interrupted, one gets the late result; the others are done with.
	s.Interrupted = slices.DeleteFunc(s.Interrupted, func(c Call) bool { return c.Child == e.Key })
	changed = changed || !child.Done
	s.settleChild(child, e.Spent)
	child.Done = true
	s.settle(e.Result.Time)
	return changed
}

func (s *State) childInterrupted(e ChildInterrupted) bool {
	child := s.child(e.Key)
	if child == nil || child.Done {
		return false
	}
	changed := false
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Child == e.Key && c.Result == nil {
			c.Result = &Result{Content: textChildInterrupted(e.Why, child.handle()), IsError: true, Interrupted: true, Time: e.Time}
			changed = true
		}
	}
	if changed {
		child.Interrupted = true
		s.settle(e.Time)
	}
	return changed
}
