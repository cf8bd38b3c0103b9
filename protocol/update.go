package protocol

// ChildEndSignal is the signal by which a resumed sub-agent sends a [ChildEnd] to its parent. Temporal itself reports
// to a parent only the run that the parent started.
const ChildEndSignal = "child-end"

// The updates of an agent. Histories contain their names, so the names never change.
const (
	MessageUpdate = "message"
	CloseUpdate   = "close"
	UpgradeUpdate = "upgrade"
	ReloadUpdate  = "reload"
	// ResumeLostUpdate tells a running agent that another resume of it was attempted and lost.
	ResumeLostUpdate = "resume-lost"
)
