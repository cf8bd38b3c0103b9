package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/llm"
)

// definitions returns in what two definitions differ, the instructions first. It returns nothing if an agent has not read its definition yet.
func definitions(a, b *agent.Definition) []object.Difference {
	if a == nil || b == nil {
		return nil
	}
	x, y := values(a), values(b)
	// A tool that only one of the agents has makes one difference.
	for _, t := range slices.Concat(a.Tools, b.Tools) {
		_, inA := a.Tool(t.Name)
		_, inB := b.Tool(t.Name)
		if inA != inB {
			for _, all := range []map[string]string{x, y} {
				maps.DeleteFunc(all, func(field, _ string) bool { return strings.HasPrefix(field, toolField(t.Name)+".") })
			}
		}
	}
	var found []object.Difference
	for _, field := range slices.SortedFunc(maps.Keys(union(x, y)), byGroup) {
		if x[field] != y[field] {
			found = append(found, object.Difference{Field: field, InA: x[field], InB: y[field]})
		}
	}
	return found
}

func union(x, y map[string]string) map[string]string {
	both := maps.Clone(x)
	maps.Copy(both, y)
	return both
}

// groups are the first names of the fields, in the order in which differences are shown. All others follow.
var groups = []string{"instructions", "models", "parameters", "limits", "tools"}

func byGroup(a, b string) int {
	rank := func(field string) int {
		name, _, _ := strings.Cut(field, ".")
		if i := slices.Index(groups, name); i >= 0 {
			return i
		}
		return len(groups)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func toolField(name string) string { return "tools." + name }

// values returns the values of a definition by their fields. The names of queues and those by which a worker finds tools say nothing about
// what the agent does, so they are not there.
func values(d *agent.Definition) map[string]string {
	all := map[string]string{}
	add := func(under string, v any, without ...string) {
		for _, m := range members(v) {
			if !slices.Contains(without, m.Name) {
				all[under+m.Name] = plainText(m.Value)
			}
		}
	}
	add("", d, "name", "candidates", "params", "limits", "tools", "task_queue", "model_choices")
	var models []string
	for i, c := range d.Candidates {
		models = append(models, modelText(c))
		switch {
		case i == 0:
			add("parameters.", d.Params)
		case c.Params != nil:
			add("parameters."+c.Name+".", c.Params)
		}
	}
	all["models"] = strings.Join(models, ", ")
	add("limits.", d.Limits, "time", "cost")
	if d.Limits.Time > 0 {
		all["limits.time"] = d.Limits.Time.Round(time.Millisecond).String()
	}
	if d.Limits.Cost > 0 {
		all["limits.cost"] = d.Limits.Cost.String()
	}
	for _, t := range d.Tools {
		kind := "tool"
		if t.Agent != "" {
			kind = "sub-agent"
		}
		all[toolField(t.Name)] = kind
		add(toolField(t.Name)+".", t, "name", "ref", "task_queue")
	}
	return all
}

func modelText(c llm.Candidate) string {
	if c.Name == c.Model {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.Model)
}

// members returns the members of a value of this project in JSON.
func members(v any) []exact.Member {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // a stored definition has been JSON before
	}
	all, err := exact.Members(text)
	if err != nil {
		return nil
	}
	return all
}

// plainText returns a JSON text as the text itself, and any other value in JSON.
func plainText(value json.RawMessage) string {
	var text string
	if exact.Decode(value, &text, 0) == nil {
		return text
	}
	return string(value)
}
