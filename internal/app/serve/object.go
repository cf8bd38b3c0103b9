package serve

import (
	"strings"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// object returns the report as it is printed with --json.
func (r Report) object() object.Check {
	return object.Check{
		OK: r.OK, Problems: problemObjects(r.Problems), Unchecked: problemObjects(r.Unchecked),
		AgentCount: r.Agents, ModelCount: r.Models, MCPServerCount: r.MCPServers,
	}
}

func problemObjects(all []config.Problem) []object.Problem {
	objects := []object.Problem{}
	for _, p := range all {
		// What a program wrote may follow on further lines. The error is one line, as in the text of a problem, but it is not cut.
		message := strings.Join(strings.Fields(p.Message), " ")
		objects = append(objects, object.Problem{File: p.File, Line: p.Line, Field: p.Field, Error: message})
	}
	return objects
}
