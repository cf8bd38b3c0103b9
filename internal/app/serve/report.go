package serve

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
)

// Report is what [Check] has found.
type Report struct {
	// OK says that there is no mistake.
	OK bool
	// Problems are the mistakes, sorted by line.
	Problems []config.Problem
	// Unchecked are the parts of the configuration that were not checked, and why, sorted by line.
	Unchecked []config.Problem
	// Agents and Models are the numbers of agents and models that were checked, and MCPServers is the number of MCP servers that have started.
	Agents     int
	Models     int
	MCPServers int
}

func newReport(problems, unchecked []config.Problem) Report {
	return Report{OK: len(problems) == 0, Problems: byLine(problems), Unchecked: byLine(unchecked)}
}

// byLine returns the problems sorted by line. In JSON, an empty list is no null.
func byLine(problems []config.Problem) []config.Problem {
	problems = append([]config.Problem{}, problems...)
	slices.SortStableFunc(problems, func(a, b config.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems
}

// Write writes the report as JSON, or as text: a line for each mistake.
func (r Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return object.Print(w, r.object())
	}
	var b strings.Builder
	for _, p := range slices.Concat(r.Problems, r.Unchecked) {
		b.WriteString(p.String() + "\n")
	}
	if r.OK {
		fmt.Fprintf(&b, "No mistakes: %s, %s, %s started\n", plural.Of(r.Agents, "agent"), plural.Of(r.Models, "model"), plural.Of(r.MCPServers, "MCP server"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary says in a few words what was found.
func (r Report) Summary() string {
	if r.OK {
		return "the configuration has no mistakes"
	}
	return "the configuration has " + plural.Of(len(r.Problems), "mistake")
}
