package agent

import (
	"encoding/json"
	"slices"
	"strings"
)

// Agents is the name of a tool. With this tool, a model lists its sub-agents that work in the background (see [Tool].Background), and
// stops one of them. The state itself answers a call of this tool.
const Agents = "agents"

// AgentsSchema is the JSON schema of the arguments of the tool [Agents].
const AgentsSchema = `{"type":"object","properties":{` +
	`"stop":{"type":"string","description":"The handle of an agent to stop. Leave it out to list the agents."}},` +
	`"additionalProperties":false}`

// BackgroundSchema is the JSON schema of the arguments with which a model calls a sub-agent that works in the background.
const BackgroundSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What the agent is to do. It knows nothing of this conversation, so say all it needs."},` +
	`"instance":{"type":"string","description":"A name of your choice, to have a second agent for a task that is worded the same."},` +
	`"continue":{"type":"string","description":"The handle of an agent that works in the background, to wait for its result now. The task is then ignored."}},` +
	`"required":["task"],"additionalProperties":false}`

// maxBackground is the largest number of sub-agents of one agent that work in the background. It is smaller than [maxInterrupted],
// because each of them has a call in [State].Interrupted.
const maxBackground = 50

// background gives the call c, for a sub-agent that works in the background, its result at once: the handle of the sub-agent. The
// answer of the sub-agent comes as a late result: see [LateResult].
func (s *State) background(c *Call, now int64) {
	child := s.child(c.Child)
	child.Background, child.Interrupted, c.Background = true, true, true
	c.Result = &Result{Content: textBackground(child.handle()), Interrupted: true, Time: now}
}

// inBackground returns the sub-agents that work in the background and whose result is still to come.
func (s *State) inBackground() []Child {
	return slices.DeleteFunc(slices.Clone(s.Children), func(c Child) bool { return !c.Background || c.Done || c.Stop || !c.Interrupted })
}

// listAgents answers a call of the tool [Agents].
func (s *State) listAgents(c *Call, now int64) {
	var in struct {
		Stop string `json:"stop"`
	}
	refuse := func(text string) { c.Result = &Result{Content: text, IsError: true, Time: now} }
	if c.Arguments != "" && json.Unmarshal([]byte(c.Arguments), &in) != nil {
		refuse(textBadAgents)
		return
	}
	if in.Stop != "" {
		i := slices.IndexFunc(s.Children, func(child Child) bool { return child.Background && !child.Done && child.handle() == in.Stop })
		if i < 0 {
			refuse(textNoBackground(in.Stop))
			return
		}
		s.Children[i].Stop = true
		c.Result = &Result{Content: textStoppedAgent(in.Stop), Time: now}
		return
	}
	var lines []string
	for _, child := range s.inBackground() {
		lines = append(lines, textAgentLine(child))
	}
	if len(lines) == 0 {
		lines = []string{textNoAgents}
	}
	c.Result = &Result{Content: strings.Join(lines, "\n"), Time: now}
}
