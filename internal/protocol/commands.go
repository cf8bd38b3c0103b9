package protocol

import "github.com/reagent-dev/reagent/agent"

// Commands makes the commands with which a person lets an agent go on. The Web UI shows them in the details of the agent's workflow, and
// notifications contain them. A command is a line of text, such as a command line or a URL. A method that returns nil shows no command.
//
// The IDs may come from anywhere, so a command line has to quote them. All methods must be safe for concurrent use, and must return the
// same commands for the same arguments.
type Commands interface {
	// Message returns the command that sends a message to an agent.
	Message(agentID string) []string
	// Resume returns the command that resumes an agent that has failed or was cancelled.
	Resume(agentID string) []string
	// Settle returns the commands that settle a call, which waits for an approval, an answer or a result.
	Settle(agentID string, call agent.Key, waitsFor agent.WaitsFor) []string
	// Inbox returns the command that lists everything that waits for a person.
	Inbox() []string
}

// NoCommands is [Commands] without commands.
type NoCommands struct{}

// Message returns nil.
func (NoCommands) Message(string) []string { return nil }

// Resume returns nil.
func (NoCommands) Resume(string) []string { return nil }

// Settle returns nil.
func (NoCommands) Settle(string, agent.Key, agent.WaitsFor) []string { return nil }

// Inbox returns nil.
func (NoCommands) Inbox() []string { return nil }
