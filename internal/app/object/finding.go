package object

// Level says how good or bad a [Finding] is.
type Level string

// The levels.
const (
	Well      Level = "ok"
	Warning   Level = "warning"
	Wrong     Level = "problem"
	Unchecked Level = "unchecked"
)

// Finding is what `starter doctor` has found in one check. A check may have several findings.
type Finding struct {
	// Check is the name of the check.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Finding is a sentence on one line.
	Finding string `json:"finding"`
	// Cure says what to do. Each warning and each problem has one.
	Cure string `json:"cure,omitempty"`
	// Commands are the commands of the cure.
	Commands []string `json:"commands"`
}

func (Finding) kind() string { return "finding" }
