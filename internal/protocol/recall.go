package protocol

import "strings"

// Recall tells an activity whether an earlier run of the agent may have the activity's result. It is a part of the activity's
// input. A run is one Temporal run of the agent's workflow. In all runs, the activity has the same ID: its [agent.Key], a
// hash of its content. The activity finds its result by this ID in the histories of earlier runs.
type Recall struct {
	// Run is the end of the ID of the run that first scheduled the activity: see [RunSuffix]. If the workflow is reset while
	// the activity is open, Temporal schedules the activity again in the new run, with the same input. Run then still names
	// the earlier run.
	Run string `json:"run,omitempty"`
	// BaseRunID is the ID of an earlier run. If it is set, the activity searches that run and all other earlier runs for its
	// result. It is empty if no earlier run can have the result: see [agent.State.MayRecall].
	BaseRunID string `json:"base_run_id,omitempty"`
}

// RunSuffix returns the part of a run ID after the last hyphen. This part is enough to distinguish the runs of one agent: its
// 48 bits are random in all versions of UUIDs that Temporal uses.
func RunSuffix(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
