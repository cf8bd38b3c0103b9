package protocol

// A lease is one heartbeat for all calls of a worker. It is a workflow with an activity that only this worker carries out. The
// heartbeats of this activity name the calls in flight. If they stop, another worker returns these calls to Temporal.

// LeaseWorkflow is the workflow type of a lease. Its input is a [LeaseInput].
const LeaseWorkflow = "ReagentLease"

const (
	// HoldLease is the activity that sends the heartbeats of a lease. Their details are the [HeldCalls].
	HoldLease = "HoldLease"
	// ReturnCalls is the activity that returns the calls of a lost worker to Temporal. Its input is the [HeldCalls].
	ReturnCalls = "ReturnCalls"
)

// LeaseLost is the type of the error with which [ReturnCalls] fails an attempt of a lost worker. Temporal then gives the call to
// another worker.
const LeaseLost = "LeaseLost"

// LeaseInput is the input of a [LeaseWorkflow].
type LeaseInput struct {
	// TaskQueue is the task queue of [HoldLease], which only the worker that holds the lease serves.
	TaskQueue string `json:"task_queue"`
	// HeartbeatTimeoutMS is the heartbeat timeout of [HoldLease], in milliseconds.
	HeartbeatTimeoutMS int64 `json:"heartbeat_timeout_ms"`
}

// HeldCalls are the calls that a worker makes under its lease.
type HeldCalls struct {
	Calls []HeldCall `json:"calls,omitempty"`
}

// HeldCall names an attempt at an activity of an agent.
type HeldCall struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
	Attempt    int32  `json:"attempt"`
	// StartedMS is the time at which the attempt began, in Unix milliseconds. It tells two activities with the same ID apart.
	StartedMS int64 `json:"started_ms"`
}
