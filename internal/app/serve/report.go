package serve

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Report is what [Check] has found.
type Report struct {
	// OK says that there is no mistake.
	OK bool `json:"ok"`
	// Problems are the mistakes, sorted by line.
	Problems []config.Problem `json:"problems"`
	// Unchecked are the parts of the configuration that were not checked, and why.
	Unchecked []config.Problem `json:"unchecked"`
	// Agents, Models and MCPServers are the numbers of agents, of models, and of the MCP servers that were started.
	Agents     int `json:"agents"`
	Models     int `json:"models"`
	MCPServers int `json:"mcp_servers"`
}

func newReport(problems []config.Problem) Report {
	problems = append([]config.Problem{}, problems...) // in JSON, an empty list is no null
	slices.SortStableFunc(problems, func(a, b config.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return Report{OK: len(problems) == 0, Problems: problems, Unchecked: []config.Problem{}}
}

// Write writes the report as JSON, or as text: a line for each mistake.
func (r Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return printable.Encode(w, r, "  ")
	}
	var b strings.Builder
	for _, p := range slices.Concat(r.Problems, r.Unchecked) {
		b.WriteString(p.String() + "\n")
	}
	if r.OK {
		fmt.Fprintf(&b, "No mistakes: %s, %s, %s started\n", count(r.Agents, "agent"), count(r.Models, "model"), count(r.MCPServers, "MCP server"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary says in a few words what was found.
func (r Report) Summary() string {
	if r.OK {
		return "the configuration has no mistakes"
	}
	return "the configuration has " + count(len(r.Problems), "mistake")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
