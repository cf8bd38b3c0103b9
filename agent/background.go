package agent

import (
	"cmp"
	"slices"
	"strings"
)

// Agents is the name of a tool. With this tool, a model lists its sub-agents that work in the background (see [Tool].Background),
// stops one of them, or sends it a message. The state itself answers the call, except for a message, which a worker delivers.
const Agents = "agents"

// AgentsSchema is the JSON schema of the arguments of the tool [Agents].
const AgentsSchema = `{"type":"object","properties":{` +
	`"stop":{"type":"string","description":"The handle of an agent to stop. Leave it out to list the agents."},` +
	`"to":{"type":"string","description":"The handle of an agent that gets the message."},` +
	`"message":{"type":"string","description":"A message for the agent in \"to\", which reads it before its next step."}},` +
	`"additionalProperties":false}`

// BackgroundSchema is the JSON schema of the arguments with which a model calls a sub-agent that works in the background.
const BackgroundSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What the agent is to do. It knows nothing of this conversation, so say all it needs."},` +
	`"instance":{"type":"string","description":"A name of your choice, to have a second agent for a task that is worded the same."},` +
	`"continue":{"type":"string","description":"The handle of an agent that works in the background, to wait for its result now. The task is then ignored."}},` +
	`"required":["task"],"additionalProperties":false}`

// background gives the call c its result at once: the handle of its sub-agent, which works in the background. The sub-agent's answer
// comes later: see [LateResult]. If an earlier run may have told the model something else, the driver asks that run first: see
// [Call].Stopped.
func (s *State) background(c *Call, now int64) {
	child := s.child(c.Child)
	c.Background = true
	s.stop(c, Result{Content: textBackground(child.Key.Handle()), Kind: InBackground, Time: now})
}

// inBackground returns the sub-agents that work in the background and whose result is still to come.
func (s *State) inBackground() []Child {
	return slices.DeleteFunc(slices.Clone(s.Children), func(c Child) bool { return c.Phase.Ended() || s.attachment(c) != ChildInBackground })
}

type agentsArguments struct {
	Stop    string `json:"stop"`
	To      string `json:"to"`
	Message string `json:"message"`
}

// manageAgents answers a call of the tool [Agents]. For a message to a sub-agent that works in the background, manageAgents only stores
// which sub-agent gets the message (see [Call].To), and a worker sends it.
//
// The answers change with time, so an earlier run may have told the model something else. The driver then asks that run first: see
// [Call].Stopped. Only the error for bad arguments is always the same.
func (s *State) manageAgents(c *Call, now int64) {
	answer := func(text string, kind ResultKind) { s.stop(c, Result{Content: text, Kind: kind, Time: now}) }
	var in agentsArguments
	if c.Arguments != "" {
		if readArguments(c.Arguments, &in) != nil || (in.To == "") != (strings.TrimSpace(in.Message) == "") || in.To != "" && in.Stop != "" {
			c.Result = &Result{Content: textBadAgents, Kind: Errored, Time: now}
			return
		}
	}
	handle := cmp.Or(in.Stop, in.To)
	if handle == "" {
		answer(s.listAgents(), "")
		return
	}
	i := slices.IndexFunc(s.Children, func(child Child) bool {
		return s.attachment(child) == ChildInBackground && child.Key.Handle() == handle
	})
	// A sub-agent that has ended is stopped, too. After a reset, this run may know of an end of which the earlier run did not know yet.
	// In both runs, a later call with the same task must get the same sub-agent.
	ended := i < 0 || s.Children[i].Phase.Ended()
	if i >= 0 && in.Stop != "" {
		s.Children[i].Attachment = ChildCancelling
	}
	switch {
	case ended:
		answer(textNoBackground(handle), Errored)
	case in.To != "":
		c.To = s.Children[i].Key
	default:
		answer(textStoppedAgent(handle), "")
	}
}

func (s *State) listAgents() string {
	var lines []string
	for _, child := range s.inBackground() {
		lines = append(lines, textAgentLine(child))
	}
	if len(lines) == 0 {
		return textNoAgents
	}
	return strings.Join(lines, "\n")
}

// ForChild returns the message that a call of the tool [Agents] sends to the sub-agent in the field To of the call. Call it only if To is
// set.
func (c *Call) ForChild() string {
	var in agentsArguments
	_ = readArguments(c.Arguments, &in) // [State.manageAgents] has read the arguments before
	return in.Message
}
