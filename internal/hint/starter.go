// Package hint names the commands of the program starter that let an agent go on.
package hint

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// Starter is [protocol.Commands] with the commands of the program starter.
type Starter struct{}

var _ protocol.Commands = Starter{}

// Message returns the command `starter send`, with a placeholder for the text.
func (Starter) Message(id string) []string {
	return []string{shellword.Starter("send", id).Then(`"…"`).String()}
}

// Resume returns the command `starter resume`.
func (Starter) Resume(id string) []string {
	return []string{shellword.Starter("resume", id).String()}
}

// Settle returns `starter approve` and `starter deny` for a call that waits for an approval. For other calls, it returns `starter
// answer` or `starter complete`, with a placeholder for the text.
func (Starter) Settle(id string, call agent.Key, waitsFor agent.WaitsFor) []string {
	verb := "complete"
	switch waitsFor {
	case agent.WaitsForApproval:
		return []string{shellword.Starter("approve", id, call.Handle()).String(), shellword.Starter("deny", id, call.Handle()).String()}
	case agent.WaitsForAnswer:
		verb = "answer"
	}
	return []string{shellword.Starter(verb, id).With("--call " + call.Handle()).Then(`"…"`).String()}
}

// Inbox returns the command `starter inbox`.
func (Starter) Inbox() []string { return []string{shellword.Starter("inbox").String()} }
