// Package compare finds the first difference of two agents, and shows it.
package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/llm"
)

// Agents compares two agents. The snapshots must have their messages from the beginning on.
func Agents(a, b client.Snapshot) object.Comparison {
	c := object.Comparison{A: side(a), B: side(b), Differences: definitions(a.Definition, b.Definition)}
	x, y := said(a.Messages), said(b.Messages)
	for c.SameMessages < min(len(x), len(y)) && same(x[c.SameMessages], y[c.SameMessages]) {
		c.SameMessages++
	}
	c.A.Message, c.B.Message = at(x, c.SameMessages), at(y, c.SameMessages)
	return c
}

func at(all []object.Said, i int) *object.Said {
	if i >= len(all) {
		return nil
	}
	return &all[i]
}

func same(a, b object.Said) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Tool == b.Tool && slices.Equal(a.Images, b.Images) && slices.Equal(a.Calls, b.Calls)
}

func side(s client.Snapshot) object.Side {
	made := object.Side{
		ID: s.ID, Agent: s.Agent, Status: s.Status, MessageCount: s.Count, Usage: object.NewUsage(s.Usage), Spent: object.NewSpending(s.Usage.Spent()),
		DurationMS: object.Millis(duration(s)), Answer: s.Answer, Error: s.Failure,
	}
	if len(s.Models) > 0 {
		made.Model = s.Models[0].Model
	}
	return made
}

// duration returns the time of all model calls, and of the calls of tools between them. Calls of one reply run at the same time, so only
// the longest of them counts.
func duration(s client.Snapshot) time.Duration {
	clock := progress.Clock{Started: s.Started}
	var all, calls time.Duration
	for _, m := range s.Messages {
		took := clock.Took(m)
		if m.Role == llm.Tool {
			calls = max(calls, took)
			continue
		}
		all, calls = all+calls+took, 0
	}
	return all + calls
}

// said returns what the messages say.
func said(messages []agent.Message) []object.Said {
	var all []object.Said
	var handles []string
	known := map[agent.Key]bool{}
	for _, m := range messages {
		if m.Child != "" && !known[m.Child] {
			known[m.Child] = true
			handles = append(handles, m.Child.Handle(), fmt.Sprint("#", len(known)))
		}
	}
	unhandled := strings.NewReplacer(handles...)
	tools := map[string]string{}
	for _, m := range messages {
		one := object.Said{Role: m.Role, Content: unhandled.Replace(m.Content)}
		for _, p := range m.Parts {
			one.Images = append(one.Images, p.URL)
		}
		if m.Role == llm.Tool {
			one.Tool = tools[m.ToolCallID]
		}
		for _, call := range m.ToolCalls {
			tools[call.ID] = call.Name
			arguments := call.Arguments
			if plain, err := canon.Text([]byte(arguments)); err == nil {
				arguments = string(plain)
			}
			one.Calls = append(one.Calls, object.Asked{Tool: call.Name, Arguments: unhandled.Replace(arguments)})
		}
		all = append(all, one)
	}
	return all
}
