package protocol

// The updates of an agent. Their names stand in histories.
const (
	MessageUpdate = "message"
	CloseUpdate   = "close"
	UpgradeUpdate = "upgrade"
	// ResumeLostUpdate tells a running agent that somebody else wanted to resume it.
	ResumeLostUpdate = "resume-lost"
)
