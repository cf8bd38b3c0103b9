package protocol

// ChildEndSignal brings a [ChildEnd] from a sub-agent that was resumed to the agent that asked for it: Temporal itself
// tells a parent only of the run that the parent started.
const ChildEndSignal = "child-end"

// The updates of an agent. Their names stand in histories.
const (
	MessageUpdate = "message"
	CloseUpdate   = "close"
	UpgradeUpdate = "upgrade"
	ReloadUpdate  = "reload"
	// ResumeLostUpdate tells a running agent that somebody else wanted to resume it.
	ResumeLostUpdate = "resume-lost"
)
