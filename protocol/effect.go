package protocol

import "strings"

// Effect is the part of an activity's input that says whether earlier runs of the agent may have the activity's
// result. A run is one Temporal run of the agent's workflow. An activity has the same ID in all runs: its
// [agent.Key]. By this ID, the activity finds its result in the history of an earlier run. There is no other store of
// results.
type Effect struct {
	// Run is the end of the ID of the run that scheduled the activity: see [RunSuffix]. The activity may belong to
	// another run. If the workflow is reset while the activity is open, Temporal schedules it in the new run again,
	// with the same input.
	Run string `json:"run,omitempty"`
	// Base is the ID of an earlier run. If it is set, the activity searches this run and all other earlier runs for
	// its result. It is empty if no earlier run can have the result: see [agent.State.MayRecall].
	Base string `json:"base,omitempty"`
}

// RunSuffix returns the end of a run ID, after the last hyphen. This part has 48 bits. They are random in UUIDs of
// all versions that Temporal uses, so they distinguish the runs of one agent.
func RunSuffix(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
