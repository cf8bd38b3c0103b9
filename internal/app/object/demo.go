package object

import "github.com/reagent-dev/reagent/client"

// Demo is the result of the demo, with the counts of the model's proxy and of the tool server.
type Demo struct {
	ID     string        `json:"id"`
	Status client.Status `json:"status"`
	// Answer and Error are absent if there is none.
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	WebUI  string `json:"web_ui"`
	Model  string `json:"model"`
	// StandIn says that the stand-in replied and not a model.
	StandIn       bool          `json:"stand_in"`
	ModelRequests ModelRequests `json:"model_requests"`
	Publish       Effects       `json:"publish"`
	Measure       Effects       `json:"measure"`
	// Workers has the process IDs of the workers, in the order in which they started.
	Workers []int `json:"workers"`
	// Killed is absent if no worker was killed.
	Killed int `json:"killed,omitempty"`
	// FirstMessageMS is the time from the demo's start to the agent's first reply, and RecoveredMS that from the kill to the next message.
	FirstMessageMS Milliseconds `json:"first_message_ms"`
	RecoveredMS    Milliseconds `json:"recovered_ms,omitempty"`
	Repeated       int          `json:"repeated"`
}

func (Demo) kind() string { return "demo" }

// ModelRequests counts the requests to the model.
type ModelRequests struct {
	Requests int `json:"requests"`
	Keys     int `json:"keys"`
	Answered int `json:"answered"`
	Repeated int `json:"repeated"`
}

// Effects counts the calls of one tool.
type Effects struct {
	ToolCalls int `json:"tool_calls"`
	Keys      int `json:"keys"`
	Repeated  int `json:"repeated"`
}
