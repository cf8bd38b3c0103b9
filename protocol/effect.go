package protocol

import "strings"

// Effect says which run asked for an effect and which earlier run may have its result. The key of an effect is the ID
// of its activity, so the histories of earlier runs are the store of results. There is no other store.
type Effect struct {
	// Run is the end of the ID of the run that asked for the effect: see [RunSuffix]. It differs from the run of the
	// activity if the workflow was reset while the effect was in flight: Temporal then gives out the activity task
	// again.
	Run string `json:"run,omitempty"`
	// Base is an earlier run whose results are used. It is empty if no earlier run can have had the effect: see
	// [agent.State.MayRecall].
	Base string `json:"base,omitempty"`
}

// RunSuffix returns the part of a run ID that distinguishes the runs of one agent: the last 48 bits. They are random in
// UUIDs of all versions that Temporal uses.
func RunSuffix(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
