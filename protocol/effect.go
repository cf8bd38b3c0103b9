package protocol

import "strings"

// Effect tells where an effect comes from. Its key is its activity's ID, so the histories of earlier runs
// are the store of results: no other is needed.
type Effect struct {
	// Run is the end of the ID of the run that asked: see [RunSuffix]. It differs from that of the activity's
	// run when the workflow was reset while the effect was in flight: Temporal then gives the task out once more.
	Run string `json:"run,omitempty"`
	// Base is an earlier run whose results count; empty in an agent that was neither reset nor resumed.
	Base string `json:"base,omitempty"`
}

// RunSuffix returns the part of a run ID that tells the runs of one agent apart: the last 48 bits, which
// are random in UUIDs of all versions that Temporal uses.
func RunSuffix(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
