package protocol

import "strings"

// Effect is the part of an activity's input that says which run asked for the effect, and which earlier run may have
// its result. The key of an effect is the ID of its activity, so results are found in the histories of earlier runs.
// There is no other store of results.
type Effect struct {
	// Run is the end of the ID of the run that asked for the effect: see [RunSuffix]. The activity may belong to
	// another run. If the workflow is reset while the effect is in flight, Temporal schedules the activity with the
	// same input again, in the new run.
	Run string `json:"run,omitempty"`
	// Base is the ID of the earlier run at which the activity begins its search for the result. It is empty if no
	// earlier run can have had the effect: see [agent.State.MayRecall].
	Base string `json:"base,omitempty"`
}

// RunSuffix returns the part of a run ID that distinguishes the runs of one agent: the last 48 bits. They are random in
// UUIDs of all versions that Temporal uses.
func RunSuffix(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
