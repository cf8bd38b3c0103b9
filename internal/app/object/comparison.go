package object

import (
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// Comparison compares two agents.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// SameMessages is also the index of the messages in A and B.
	SameMessages int `json:"same_messages"`
	// Differences are those of the two definitions, the instructions first. It is absent if there are none, and if an agent has not read its
	// definition.
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is a field of a definition whose value differs in two agents. A value is absent if the definition does not set it.
type Difference struct {
	Field string `json:"field"`
	InA   string `json:"in_a,omitempty"`
	InB   string `json:"in_b,omitempty"`
}

func (Comparison) kind() string { return "comparison" }

// Side is what one of the two agents did and used.
type Side struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	// Model is the provider's name of the agent's first model. It is absent if it is not known.
	Model        string        `json:"model,omitempty"`
	Status       client.Status `json:"status"`
	MessageCount int           `json:"message_count"`
	Usage        Usage         `json:"usage"`
	Spent        Spending      `json:"spent"`
	// DurationMS is the time that the turns took together.
	DurationMS Milliseconds `json:"duration_ms"`
	// Answer and Error are absent if there is none.
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	// Message is absent if both agents said and called the same, or if this agent has no further message.
	Message *Said `json:"message,omitempty"`
}

// Said is what a message says, without what differs in every agent, such as keys and times. The handles of sub-agents are replaced by "#1",
// "#2" and so on.
type Said struct {
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
	Images  []string `json:"images,omitempty"`
	// Tool is only in the result of a call.
	Tool  string  `json:"tool,omitempty"`
	Calls []Asked `json:"calls,omitempty"`
}
