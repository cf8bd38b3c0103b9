package agent_test

import (
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A driver asks for the next step, carries it out, and applies the event that results from it. This driver has fixed
// answers. The driver in package workflows uses Temporal.
func Example() {
	s := agent.New("sum-1", agent.Start{
		Agent: "counter", Incarnation: "l", Message: &agent.QueuedMessage{ID: "first", Text: "What is 6 * 7?"},
	}, 0)
	for {
		switch step := s.Next().(type) {
		case agent.Load:
			fmt.Println("load", step.Agent)
			s.Apply(agent.DefinitionLoaded{Key: step.Key, Definition: agent.Definition{
				Name: "counter", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
				Tools: []agent.Tool{{Name: "calculator", Ref: "calculator"}},
			}})
		case agent.TakeMessage:
			fmt.Println("take", step.ID)
			s.Apply(agent.MessageTaken{ID: step.ID})
		case agent.CallModel:
			fmt.Println("call model with", step.Count, "messages")
			reply := llm.Message{Role: llm.Assistant, Content: "42"}
			if step.Count == 1 {
				call := llm.ToolCall{ID: "1", Name: "calculator", Arguments: `{"expression":"6*7"}`}
				reply = llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call}}
			}
			s.Apply(agent.ModelReplied{Key: step.Key, Reply: llm.Reply{Message: reply}})
		case agent.RunTools:
			for _, call := range step.Calls {
				fmt.Println("run", call.Name, call.Arguments)
				s.Apply(agent.ToolFinished{Key: call.Key, Result: agent.Result{Content: "42"}})
			}
		case agent.Finish:
			fmt.Println("finish:", step.Outcome.Status, step.Outcome.Answer)
			return
		}
	}
	// Output:
	// load counter
	// take first
	// call model with 1 messages
	// run calculator {"expression":"6*7"}
	// call model with 3 messages
	// finish: completed 42
}

// An event that is delivered again changes nothing. So a driver may deliver an event again if it does not know whether it
// has delivered the event.
func ExampleState_Apply() {
	s := agent.New("talk", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat}, 0)
	hello := agent.MessageReceived{Message: agent.QueuedMessage{ID: "m1", Text: "Hello"}}
	fmt.Println(s.Apply(hello), s.Apply(hello), len(s.Queue))
	// Output: true false 1
}
