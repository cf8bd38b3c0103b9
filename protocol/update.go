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
	// ResumeLostUpdate informs a running agent of a resume that had no effect, because another resume had already
	// started the agent again.
	ResumeLostUpdate = "resume-lost"
)
