package object

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
)

const callKey, modelKey = agent.Key("tool-b0e86962c8de663a172d0fc86f1b3609"), agent.Key("model-0123456789abcdef0123456789abcdef")

// noon is a time that is not in UTC. began is the same in Unix milliseconds.
var (
	noon  = time.Date(2026, 1, 2, 13, 4, 5, 678e6, time.FixedZone("CET", 3600))
	began = noon.UnixMilli()
)

// examples returns an object of each type. Together, they have a value in each field.
func examples() []Object {
	metadata := agent.Metadata{"customer": "42"}
	pay := agent.Call{
		Key: callKey, CallID: "1", Name: "pay", Arguments: `{"n":1}`, Wait: agent.CallWait{For: agent.WaitsForApproval, Until: began + 60_000},
	}
	text := agent.Call{
		Key: "text-b0e86962c8de663a172d0fc86f1b3609", Name: "tone", Arguments: `{"kind":"message","text":"Hurry up!","reason":"is this rude?"}`,
		Wait: agent.CallWait{For: agent.WaitsForApproval},
	}
	spent := agent.Spending{Usage: llm.Usage{InputTokens: 300, OutputTokens: 30}, Cost: agent.Dollar / 20}
	usage := agent.Usage{
		Usage:      llm.Usage{InputTokens: 200, OutputTokens: 20, CachedTokens: 100, CacheWriteTokens: 10, ReasoningTokens: 5},
		ModelCalls: 2, ToolCalls: 1, Cost: agent.Dollar / 40, Compactions: 1, Recalled: 1, Reattached: 1, Unanswered: 1, Repaired: 1,
		EmptyReplies: 1, RepairedReplies: 1, Repeats: agent.Repeats{Attempts: 2, Lost: 1, LostInputTokens: 50}, ResumeConflicts: 1, DuplicateEvents: 1,
	}
	messages := []agent.Message{
		{
			Message: llm.Message{Role: llm.User, Content: "Pay 1."}, Sender: &agent.Actor{By: "ann", From: "laptop", ProvedBy: "gateway"}, Metadata: metadata, Time: began,
			Verdicts: []agent.GivenVerdict{{Guardrail: "secrets", Action: agent.TextChanged}},
		},
		{Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "pay", Arguments: `{"n":1}`}}}, Key: modelKey, Time: began + 1000},
		{
			Message: llm.Message{Role: llm.Tool, Content: "paid", ToolCallID: "1"}, Key: callKey, Time: began + 5000,
			Decider: &agent.Decider{Actor: agent.Actor{By: "ann", From: "laptop"}, Time: began + 4000},
		},
		{Message: llm.Message{Role: llm.Tool, Content: "denied", ToolCallID: "2"}, Decider: &agent.Decider{Actor: agent.Actor{By: "bob"}, Denied: true, Remembered: true, Time: began}},
		{Message: llm.Message{Role: llm.Assistant, Content: "I have paid"}, FinishReason: "length", Model: "gpt-4o-mini", Spent: spent, Time: began + 6000},
	}
	snap := client.Snapshot{
		ID: "order-7", Agent: "assistant", Digest: "3f2a91c4d07b", Status: client.Waiting, WaitsFor: client.WaitsForMessage, Metadata: metadata,
		Messages: messages, First: 12, Pending: []agent.Call{pay, text}, Queue: []agent.QueuedMessage{{ID: "m2", Text: "Faster!", Steer: true, Time: began + 7000}},
		Children: []client.Child{{ID: "order-7/clerk-1", Agent: "clerk", Status: client.Running}}, ChildCount: 3, Usage: usage, Spent: &spent,
		Retry:  &client.Retry{What: "model", Class: "ServerError", Message: "HTTP 500", Attempt: 2, Next: noon, Until: noon.Add(time.Hour)},
		Answer: "I have paid", Turn: agent.TurnUse{Model: "gpt-4o-mini", Spending: spent}, FinishReason: "length", Stopped: "cost", Failure: "HTTP 401",
		Limit: agent.ReachedLimit{Value: "$0.0500", Of: agent.LimitOfMessage},
		Class: "Unauthorized",
	}
	refusal := agent.GivenVerdict{Guardrail: "tone", Action: agent.TextRefused, Reason: "rude", Decider: &agent.Decider{Actor: agent.Actor{By: "ann"}, Time: began}}
	snap.Refused = []agent.RefusedText{
		{GivenVerdict: refusal, Kind: agent.TextMessage, Of: "m1", Time: began}, {GivenVerdict: refusal, Kind: agent.TextAnswer, Of: modelKey, Time: began},
	}
	snap.Refusal = &snap.Refused[0]
	took := func(m agent.Message) time.Duration { return time.Duration(m.Time-began) * time.Millisecond }
	whole := NewAgent(snap, took)
	whole.Actions = &Actions{Actions: history.Actions{
		Starts: 1, Activities: 2, Retries: 3, Heartbeats: 4, Timers: 5, Updates: 6, Signals: 7, Attributes: 8, Waits: 9,
	}, Total: 45, CostUSD: 0.00225}

	waiting := client.Waits{AgentID: "order-7", Agent: "assistant", Call: pay, Since: began}
	approved := NewDecision(waiting, Approved)
	approved.NewArguments, approved.Given, approved.IsError = `{"n":2}`, "the blue one", true

	said := &Said{Role: llm.Tool, Content: "paid", Images: []string{"https://example.com/a.png"}, Tool: "pay", Calls: []Asked{{Tool: "pay", Arguments: "{}"}}}
	side := Side{
		ID: "order-7", Agent: "assistant", Model: "gpt-4o-mini", Status: client.Completed, MessageCount: 4, Usage: NewUsage(usage), Spent: NewSpending(spent),
		DurationMS: 6000, Answer: "I have paid", Error: "HTTP 401", Message: said,
	}
	return []Object{
		whole,
		NewSummary(client.Entry{ID: "order-7", Agent: "assistant", Metadata: metadata, Parent: "shop", Started: noon, Ended: noon.Add(time.Minute)}, client.Snapshot{
			Status: client.Held, WaitsFor: client.WaitsForRelease, Digest: "3f2a91c4d07b", Stopped: "cost", Class: "QuotaExceeded", Spent: &spent, Task: "Pay 1.",
		}),
		NewWaiting(waiting),
		approved,
		Came("order-7", 12, messages[4]),
		Status{ID: "order-7", Status: client.Waiting, WaitsFor: client.WaitsForMessage},
		Reset{ID: "order-7", MessageCount: 3},
		NewStarted(client.Started{ID: "order-7", Found: true, Status: client.Running}),
		NewSent("order-7", client.Sent{MessageID: "m1", Duplicate: true, Differs: true, Answered: callKey}),
		NewReply("m1", snap),
		Aside{ID: "order-7", Answer: "I am paying"},
		Outcome{ID: "order-7", Agent: "assistant", Outcome: Failed, Note: "it has ended: failed", RunID: "f3b0c1de-0000-4000-8000-000000000000", Error: "no worker answers"},
		NewPermission("order-7", agent.Permission{Key: callKey, Tool: "pay", Arguments: `{"n":1}`, Actor: agent.Actor{By: "ann", From: "laptop"}, Time: began}),
		Comparison{A: side, B: side, SameMessages: 2, Differences: []Difference{{Field: "limits.tokens", InA: "100", InB: "200"}}},
		Check{
			Problems: []Problem{{File: "agents.yaml", Line: 3, Field: "agents.a.model", Error: "the field is missing"}}, Unchecked: []Problem{{File: "agents.yaml"}},
			OK: true, AgentCount: 1, ModelCount: 2, MCPServerCount: 3,
		},
		Server{Address: "127.0.0.1:7233", Namespace: "default", WebUI: "http://127.0.0.1:8233", DBFilename: "dev.db"},
		CodecServer{Address: "127.0.0.1:8081", KeyID: "2026", KeyIDs: []string{"2025", "2026"}},
		Gateway{Address: "127.0.0.1:8090", BaseURL: "http://127.0.0.1:8090/v1", Agents: []string{"assistant", "support"}},
		APIKey{Key: "rg_FODjrTPBsq03pd", Entry: "- {name: 'alice', hash: 'sha256:3f2a91c4', agents: ['*'], scopes: [talk]}"},
		Setup{Namespace: "default", Registered: []string{"ReagentStatus"}},
		Finding{
			Check: "attributes", Level: Warning, Finding: "the namespace lacks the search attributes ReagentStatus", Cure: "register them: `starter setup`",
			Commands: []string{"starter setup"},
		},
		AuditLine{
			Line: 7, Act: "approved", ID: "order-7", RunID: "5d6e0f1c", Event: 12, Time: Time(noon), Actor: Actor{By: "ann", From: "laptop", ProvedBy: "gateway"},
			Agent: "assistant", Parent: "order-6", EarlierRunID: "4c5d6e0f", MessageID: "m1", Key: callKey, Tool: "pay", AllowedBy: "person",
			Permits: agent.RememberTool, Guardrail: "tone", Action: agent.TextAllowed, Model: "gpt-4o-mini", Attempt: 1, Class: "error",
			Status: client.Completed, Since: Time(noon), Content: "paid", Arguments: `{"n":1}`, NewArguments: `{"n":2}`, Reason: "rude",
			Hashes: map[string]string{"content": "3f2a91c4"}, Before: "d07b3f2a", Hash: "91c4d07b",
		},
		Demo{
			ID: "guide-1", Status: client.Completed, Answer: "README.md", Error: "HTTP 401", WebUI: "http://127.0.0.1:8233/namespaces/default/workflows/guide-1",
			Model: "stand-in", StandIn: true, ModelRequests: ModelRequests{Requests: 7, Keys: 6, Answered: 6, Repeated: 1},
			Publish: Effects{ToolCalls: 1, Keys: 1, Repeated: 1}, Measure: Effects{ToolCalls: 2, Keys: 1, Repeated: 1},
			Workers: []int{101, 102}, Killed: 101, FirstMessageMS: 1500, RecoveredMS: 3200, Repeated: 2,
		},
		Error{Error: "agent order-7 is held: HTTP 401", ExitCode: 3, Commands: []string{"starter send order-7 TEXT"}},
	}
}
