package serve

import (
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
		objects = append(objects, object.Problem{File: p.File, Line: p.Line, Field: p.Field, Error: p.Message})
	}
	return objects
}
