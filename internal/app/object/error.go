package object

// Error is the error with which a command ends. It is the last line on standard error.
type Error struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exit_code"`
	// Commands are what a person can do next. They never come from the text of a model or a tool.
	Commands []string `json:"commands"`
}

func (Error) kind() string { return "error" }
