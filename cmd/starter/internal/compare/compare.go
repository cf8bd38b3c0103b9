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

// Comparison is the JSON form of a comparison of two agents. Scripts read this form. Fields may be added, but must not be changed.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// SameMessages is the number of messages at the beginning that are the same.
	SameMessages int `json:"same_messages"`
	// Difference is what comes after them. It is absent if both agents said and called the same.
	Difference *Difference `json:"difference,omitempty"`
}

// Side is what an agent did and used.
type Side struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	// Model is the provider's name of the agent's first model. The field is absent if it is not known.
	Model        string        `json:"model,omitempty"`
	Status       client.Status `json:"status"`
	Messages     int           `json:"messages"`
	ModelCalls   int           `json:"model_calls"`
	ToolCalls    int           `json:"tool_calls"`
	InputTokens  int           `json:"input_tokens"`
	OutputTokens int           `json:"output_tokens"`
	CostUSD      float64       `json:"cost_usd"`
	// DurationMS is the time that the turns took together, in milliseconds.
	DurationMS int64  `json:"duration_ms"`
	Answer     string `json:"answer"`
	Error      string `json:"error,omitempty"`
}

// Difference has the first messages that differ. One of the two is absent if its agent has no further message.
type Difference struct {
	// Index is the place of the messages in the transcripts, counted from 0.
	Index int   `json:"index"`
	A     *Said `json:"a,omitempty"`
	B     *Said `json:"b,omitempty"`
}

// Said is what a message says, without what differs in every agent, such as keys and times. The handles of sub-agents are replaced by "#1",
// "#2" and so on.
type Said struct {
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
	Images  []string `json:"images,omitempty"`
	// Tool is the name of the tool of a result.
	Tool  string `json:"tool,omitempty"`
	Calls []Call `json:"calls,omitempty"`
}

// Call is a call in the reply of a model. Arguments that are valid JSON are in a form in which equal ones are equal texts.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Agents compares two agents. The snapshots must have their messages from the beginning on.
func Agents(a, b client.Snapshot) Comparison {
	c := Comparison{A: side(a), B: side(b)}
	x, y := said(a.Messages), said(b.Messages)
	for c.SameMessages < min(len(x), len(y)) && same(x[c.SameMessages], y[c.SameMessages]) {
		c.SameMessages++
	}
	if n := c.SameMessages; n < max(len(x), len(y)) {
		c.Difference = &Difference{Index: n, A: at(x, n), B: at(y, n)}
	}
	return c
}

func at(all []Said, i int) *Said {
	if i >= len(all) {
		return nil
	}
	return &all[i]
}

func same(a, b Said) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Tool == b.Tool && slices.Equal(a.Images, b.Images) && slices.Equal(a.Calls, b.Calls)
}

func side(s client.Snapshot) Side {
	spent := object.NewSpending(s.Usage.Spent())
	made := Side{
		ID: s.ID, Agent: s.Agent, Status: s.Status, Messages: s.Count, ModelCalls: s.Usage.ModelCalls, ToolCalls: s.Usage.ToolCalls,
		InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, CostUSD: spent.CostUSD,
		DurationMS: duration(s).Milliseconds(), Answer: s.Answer, Error: s.Failure,
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
func said(messages []agent.Message) []Said {
	var all []Said
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
		one := Said{Role: m.Role, Content: unhandled.Replace(m.Content)}
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
			one.Calls = append(one.Calls, Call{call.Name, unhandled.Replace(arguments)})
		}
		all = append(all, one)
	}
	return all
}
