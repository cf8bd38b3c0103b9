package object

// Check is the result of a check of a configuration.
type Check struct {
	// OK says that there is no mistake.
	OK bool `json:"ok"`
	// Problems are the mistakes, sorted by line. Unchecked are the parts of the configuration that were not checked, and why.
	Problems  []Problem `json:"problems"`
	Unchecked []Problem `json:"unchecked"`
	// MCPServerCount is the number of MCP servers that were started.
	AgentCount     int `json:"agent_count"`
	ModelCount     int `json:"model_count"`
	MCPServerCount int `json:"mcp_server_count"`
}

func (Check) kind() string { return "check" }

// Problem is a mistake in a configuration.
type Problem struct {
	File string `json:"file"`
	// Line is 0 for the file as a whole.
	Line int `json:"line"`
	// Field is empty for the file as a whole.
	Field string `json:"field"`
	Error string `json:"error"`
}
