package object

// Result says what has become of an agent.
type Result string

// The results.
const (
	Done    Result = "done"
	Already Result = "already" // the agent was as the command would have left it
	Failed  Result = "failed"
	Would   Result = "would" // with --dry-run
)

// Outcome is what a command has done to an agent.
type Outcome struct {
	ID string `json:"id"`
	// Agent is absent if the command had no need to read it.
	Agent   string `json:"agent,omitempty"`
	Outcome Result `json:"outcome"`
	// Note says more; it may be absent.
	Note string `json:"note,omitempty"`
	// RunID is the run in which the agent goes on after `starter upgrade`.
	RunID string `json:"run_id,omitempty"`
	// Error is absent unless the command has failed for this agent.
	Error string `json:"error,omitempty"`
}

func (Outcome) kind() string { return "outcome" }
