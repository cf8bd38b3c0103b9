package agent_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// overrides returns the overrides of a message. Half of the messages have none.
func (l *life) overrides() agent.Overrides {
	if l.chance.IntN(2) == 0 {
		return agent.Overrides{}
	}
	return agent.Overrides{
		Model: pick(l.chance, "", "best"), ReasoningEffort: pick(l.chance, "", "low"), Instructions: pick(l.chance, "", "Be brief."),
		Tools:  pick(l.chance, nil, nil, []string{"read", "clerk"}, []string{"scout"}),
		Limits: agent.Limits{ModelCalls: pick(l.chance, 0, 1, 3), Tokens: pick(l.chance, 0, 0, 500)},

		ClientTools:  pick(l.chance, nil, nil, []agent.ClientTool{{Name: "browse"}}),
		OutputSchema: pick(l.chance, nil, nil, json.RawMessage(`{"type":"string"}`)),
	}
}

// resolved returns what a worker makes of the overrides, or says that it refuses them.
func (l *life) resolved(step agent.ResolveOverrides) agent.Event {
	if l.chance.IntN(6) == 0 {
		return agent.OverridesRefused{Key: step.Key, Class: "BadOverrides", Message: "no", Time: l.now}
	}
	var d agent.TurnDefinition
	if step.Overrides.Model != "" {
		d.Candidates, d.SendReasoning = []llm.Candidate{{Name: step.Overrides.Model, Model: "b"}}, true
		d.Params = &llm.Params{ReasoningEffort: "high"}
	}
	d.Tools = step.Overrides.Tools
	return agent.OverridesResolved{Key: step.Key, Definition: d, Time: l.now}
}

// overrides checks that a model call has exactly what the overrides of its turn make of the agent's definition, and that a turn without
// overrides has the definition itself.
func (w *law) overrides(s *agent.State, step agent.Step) {
	call, asks := step.(agent.CallModel)
	if s.Dropped > 0 || !asks || call.Key == w.allowed {
		return
	}
	w.allowed = call.Key
	var turn agent.Overrides
	ended := false
	for _, m := range s.Messages {
		if ended && !m.Notice {
			turn = agent.Overrides{}
		}
		if !m.Overrides.Equal(agent.Overrides{}) {
			turn = m.Overrides
		}
		ended = m.Role == llm.Assistant && len(m.ToolCalls) == 0
	}
	own, d := s.Own(), s.Definition
	if s.PrefixHash != agent.HashPrefix(d.RequestPrefix()) {
		w.brokenf("the key of %s is that of another definition", call.Key)
	}
	if turn.Equal(agent.Overrides{}) {
		if d != own || s.OwnDefinition != nil {
			w.brokenf("the turn of %s has no overrides, and other messages' overrides hold", call.Key)
		}
		return
	}
	model, effort := own.Candidates[0].Name, own.Params.ReasoningEffort
	if turn.Model != "" {
		model, effort = turn.Model, "high"
	}
	if turn.ReasoningEffort != "" {
		effort = turn.ReasoningEffort
	}
	var tools, want []string
	for _, t := range d.Tools {
		tools = append(tools, t.Name)
	}
	for _, t := range own.Tools {
		if len(turn.Tools) == 0 || slices.Contains(turn.Tools, t.Name) {
			want = append(want, t.Name)
		}
	}
	for _, t := range turn.ClientTools {
		want = append(want, t.Name)
	}
	schema := own.Params.OutputSchema
	if len(turn.OutputSchema) > 0 {
		schema = turn.OutputSchema
	}
	limits := own.Limits.Lowered(agent.Limits{ModelCalls: turn.Limits.ModelCalls})
	switch {
	case d.Candidates[0].Name != model || d.Params.ReasoningEffort != effort:
		w.brokenf("the turn of %s uses the model %s with the effort %q, and not %s with %q", call.Key, d.Candidates[0].Name, d.Params.ReasoningEffort, model, effort)
	case d.Instructions != strings.TrimPrefix(own.Instructions+"\n\n"+turn.Instructions, "\n\n") && turn.Instructions != "":
		w.brokenf("the turn of %s has the instructions %q", call.Key, d.Instructions)
	case !slices.Equal(tools, want):
		w.brokenf("the turn of %s has the tools %v, and not %v", call.Key, tools, want)
	case !bytes.Equal(d.Params.OutputSchema, schema):
		w.brokenf("the answer of the turn of %s must fit %s, and not %s", call.Key, d.Params.OutputSchema, schema)
	case d.Limits.ModelCalls != limits.ModelCalls:
		w.brokenf("the turn of %s may make %d model calls, and not %d", call.Key, d.Limits.ModelCalls, limits.ModelCalls)
	case turn.Limits.Tokens > 0 && (d.Limits.Tokens == 0 || own.Limits.Tokens > 0 && d.Limits.Tokens > own.Limits.Tokens):
		w.brokenf("the turn of %s may use %d tokens; its overrides allow %d more, and the definition %d", call.Key, d.Limits.Tokens, turn.Limits.Tokens, own.Limits.Tokens)
	}
}
