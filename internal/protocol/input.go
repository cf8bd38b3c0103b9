package protocol

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// LoadAgentInput is the input of the activity [LoadAgent], which reads an agent's definition.
type LoadAgentInput struct {
	Recall
	// Agent is the name of the definition.
	Agent string `json:"agent"`
	// Overrides change the definition for this agent.
	Overrides agent.Overrides `json:"overrides,omitzero"`
}

// ResolveOverridesInput is the input of the activity [ResolveOverrides].
type ResolveOverridesInput struct {
	Recall
	// Agent is the name of the definition.
	Agent string `json:"agent"`
	// Overrides are those of the message.
	Overrides agent.Overrides `json:"overrides"`
	// ReasoningEffort is the one that the agent was started with: see [agent.Start].Overrides.
	ReasoningEffort string `json:"reasoning_effort,omitempty"`
	// Models are the names of the models in the agent's definition, if the overrides name another model.
	Models []string `json:"models,omitempty"`
	// Tools are the tools and sub-agents in the agent's definition, if the overrides choose some of them. They have only their names.
	Tools []agent.Tool `json:"tools,omitempty"`
}

// NewResolveOverridesInput returns the input without a recall. `own` is the definition of the agent, without the overrides of the message.
func NewResolveOverridesInput(own *agent.Definition, start, o agent.Overrides) ResolveOverridesInput {
	in := ResolveOverridesInput{Agent: own.Name, Overrides: o}
	if o.Model != "" {
		in.ReasoningEffort = start.ReasoningEffort
		for _, c := range own.Candidates {
			in.Models = append(in.Models, c.Name)
		}
	}
	if len(o.Tools) > 0 {
		for _, t := range own.Tools {
			in.Tools = append(in.Tools, agent.Tool{Name: t.Name, Ref: t.Ref, Agent: t.Agent, Background: t.Background})
		}
	}
	return in
}

// CallModelInput is the input of the activity [CallModel]. It says how the activity gets the request for the model. It does
// not contain the request itself, because every model call would add the whole conversation to the history again. The
// activity's ID is the key of the request, a hash of the request's content. The activity checks the request by this key.
type CallModelInput struct {
	Recall
	// Count is the number of messages in the request, without the system message.
	Count int `json:"count"`
	// Origin is the part of the request's key that does not depend on the messages. It is set if Delta is not empty. With
	// Origin and Delta, the activity need not query the workflow for the first request of a turn.
	Origin *agent.ModelIdentity `json:"origin,omitempty"`
	// Delta holds the user's messages at the end of the request. If these messages are too large together, Delta holds only
	// the last ones that fit.
	Delta []llm.Message `json:"delta,omitempty"`
	// Reasoning says that later requests include the model's reasoning.
	Reasoning bool `json:"reasoning,omitempty"`
	// Compact says that the request asks for a summary of the conversation.
	Compact bool `json:"compact,omitempty"`
	// Aside says that the request asks a question aside: see [agent.AsideRequest]. Origin is set, and Delta has the question.
	Aside bool `json:"aside,omitempty"`
	// Rules are the rules by which the arguments decide about approvals, by the name of the tool: see [agent.Tool].ApprovalRule. If there
	// are some, Agent is the name of the definition.
	Rules map[string]string `json:"rules,omitempty"`
	Agent string            `json:"agent,omitempty"`
	// PartialText says that the activity reports the text of the reply while the text grows.
	PartialText bool `json:"partial_text,omitempty"`
	// Judged says that guardrails judge the answers, so nobody sees the text of the reply before.
	Judged bool `json:"judged,omitempty"`
	// Metadata is that of the agent and of the running turn: see [agent.State.CurrentMetadata].
	Metadata agent.Metadata `json:"metadata,omitempty"`
	// Traceparent is the traceparent of the running turn: see [agent.TurnSpan.Traceparent].
	Traceparent string `json:"traceparent,omitempty"`
}

// CallToolInput is the input of the activity [CallTool], which makes one tool call.
type CallToolInput struct {
	Recall
	// CallID is the ID that the model gave to the call.
	CallID string `json:"call_id"`
	// Ref is the name by which the worker finds the tool.
	Ref string `json:"ref"`
	// ToolEffect says whether the tool may run twice: see [agent.Tool.Effect].
	ToolEffect string `json:"tool_effect,omitempty"`
	// Arguments are the arguments of the call, as a JSON text.
	Arguments string `json:"arguments"`
	// Elicitation has the answer to a question of the tool, and the state of the tool; nil if there was no question.
	Elicitation *agent.Elicitation `json:"elicitation,omitempty"`
	// To is the agent ID of the sub-agent to which the call sends a message: see [agent.Call.ForChild]. It is empty for all other calls.
	To string `json:"to,omitempty"`
	// ResultBytes is the size in bytes to which the history cuts the result; 0 means [DefaultResultBytes].
	ResultBytes int `json:"result_bytes,omitempty"`
	// Batch is the number of calls in the same model reply that may run, including this call; 0 means 1. The results of these
	// calls share a number of bytes in the history: see [Stored].
	Batch int `json:"batch,omitempty"`
	// ShownBytes is the size in bytes to which the transcript cuts the result; 0 means ResultBytes.
	ShownBytes int `json:"shown_bytes,omitempty"`
	// PartialText says that the activity reports the output of the tool while the output grows.
	PartialText bool `json:"partial_text,omitempty"`
	// Metadata is that of the agent and of the running turn: see [agent.State.CurrentMetadata].
	Metadata agent.Metadata `json:"metadata,omitempty"`
	// Traceparent is the traceparent of the running turn: see [agent.TurnSpan.Traceparent].
	Traceparent string `json:"traceparent,omitempty"`
}

// OmitDefaults makes the input of a tool call smaller for the history. It returns a copy without the numbers that follow from the
// defaults: see the fields ResultBytes, ShownBytes and Batch.
func (in CallToolInput) OmitDefaults() CallToolInput {
	if in.ShownBytes == ShownBytes(in.ResultBytes) {
		in.ShownBytes = 0
	}
	if in.ResultBytes == DefaultResultBytes {
		in.ResultBytes = 0
	}
	if in.Batch == 1 {
		in.Batch = 0
	}
	return in
}

// CheckTextInput is the input of the activity [CheckText], which asks a guardrail for its verdict on a text.
type CheckTextInput struct {
	Recall
	// Guardrail is the name of the guardrail.
	Guardrail string `json:"guardrail"`
	// Kind says what the text is.
	Kind agent.TextKind `json:"kind"`
	// Text is the text.
	Text string `json:"text"`
	// Metadata is that of the agent and of the running turn: see [agent.State.CurrentMetadata].
	Metadata agent.Metadata `json:"metadata,omitempty"`
	// Traceparent is the traceparent of the running turn: see [agent.TurnSpan.Traceparent].
	Traceparent string `json:"traceparent,omitempty"`
}

// AwaitAgentInput is the input of the activity [AwaitAgent], which waits for the end of a sub-agent that was started earlier.
type AwaitAgentInput struct {
	// ID is the agent ID of the sub-agent.
	ID string `json:"id"`
	// Key is the key of the sub-agent. With it, the activity checks that it has found the right workflow.
	Key agent.Key `json:"key"`
}

// ReadProgressInput is the input of the activity [ReadProgress], which reads how long a sub-agent has been idle.
type ReadProgressInput struct {
	// ID is the agent ID of the sub-agent.
	ID string `json:"id"`
}

// FindCallInput is the input of the activity [FindCall]. The activity looks for what earlier runs of the agent have recorded about a
// tool call, with or without a sub-agent.
type FindCallInput struct {
	Recall
	// Call is the tool call without its result and without its arguments. The arguments are left out because they may be
	// long.
	Call agent.Call `json:"call"`
}

// MaxHookTimeout is the longest time that a hook may have for one attempt at a notification.
const MaxHookTimeout = 30 * time.Second

// NotifyInput is the input of the activity [Notify], which delivers a notification to a hook. The activity's ID is the key of the
// notification.
type NotifyInput struct {
	agent.Notification
	// Agent is the name of the definition of the agent.
	Agent string `json:"agent"`
	// Parent is the agent ID of the parent agent. It is empty for a root agent.
	Parent string `json:"parent,omitempty"`
	// Traceparent is the traceparent of the turn: see [agent.TurnSpan.Traceparent].
	Traceparent string `json:"traceparent,omitempty"`
}

// ReadAgentInput is the input of the activity [ReadAgent]. It asks for one page of the state of an agent.
type ReadAgentInput struct {
	// From names the run whose history contains the state.
	From agent.RunRef `json:"from"`
	// Page is the number of the page. The first page has the number 0.
	Page int `json:"page"`
}

// FindMessagesInput is the input of the activity [FindMessages]. It asks for one page of the messages and decisions that other
// runs of the agent received.
type FindMessagesInput struct {
	// Skip is the number of messages and decisions in earlier pages.
	Skip int `json:"skip,omitempty"`
	// Count is the number of messages in the transcript of the searching run. Places before it are not needed.
	Count int `json:"count,omitempty"`
}

// FoundMessages is the result of the activity [FindMessages]: a page of the messages and decisions that other runs of the agent
// received. The searching run is the run that started the activity. It puts the messages that it has not received into its queue, and
// applies the decisions on calls on which nobody has decided in it.
type FoundMessages struct {
	// Run is the end of the ID of the searching run: see [RunSuffix].
	Run string `json:"run"`
	// Messages are the messages of this page.
	Messages []agent.QueuedMessage `json:"messages,omitempty"`
	// Decisions are the decisions of this page. A page has decisions only if no later page has messages. This order says nothing about
	// time.
	Decisions []agent.Decision `json:"decisions,omitempty"`
	// Revoked are the keys of the permissions that people revoked in other runs. Only the first page has Revoked.
	Revoked []agent.Key `json:"revoked,omitempty"`
	// Order lists the IDs of all messages that any run of the agent received, the searching run included. The message that
	// was received first comes first. The searching run sorts its queue by this list. Only the first page has Order. If the
	// list would be too long, the newest messages are missing.
	Order []string `json:"order,omitempty"`
	// Times has one time for each ID in Order: when a run first received the message, in Unix milliseconds. The time is 0 if
	// it is unknown.
	Times []int64 `json:"times,omitempty"`
	// Places has the places of these messages in the transcripts of other runs, by message ID: see [agent.MessagesFound].
	// Only the first page has Places. If there would be too many, those that come last are missing.
	Places map[string]agent.Place `json:"places,omitempty"`
	// More says that there is another page.
	More bool `json:"more,omitempty"`
}
