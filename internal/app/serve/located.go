package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/config"
)

// located returns an error of [reagent.New] as a [*config.Error], whose mistakes have the lines and fields of the configuration.
func located(cfg *config.Config, agents []reagent.Agent, err error) error {
	return &config.Error{Problems: problemsOf(cfg, agents, err)}
}

// problemsOf returns the mistakes in an error. `agents` are the agents whose definitions were made.
func problemsOf(cfg *config.Config, agents []reagent.Agent, err error) []config.Problem {
	switch e := err.(type) { //nolint:errorlint // the parts of the error are taken apart one by one
	case nil:
		return nil
	case *config.Error:
		return e.Problems
	case *reagent.AgentError:
		return []config.Problem{cfg.Problem(strings.TrimSuffix("agents."+e.Agent+"."+fieldOf(cfg, agents, e), "."), e.Err.Error())}
	case *reagent.ModelError:
		return []config.Problem{cfg.Problem("models."+e.Model, e.Err.Error())}
	case *reagent.ServerError:
		return []config.Problem{cfg.Problem("mcp_servers."+e.Server.Name, strings.TrimPrefix(e.Error(), "mcp server "+e.Server.Name+": "))}
	case interface{ Unwrap() []error }:
		var all []config.Problem
		for _, part := range e.Unwrap() {
			all = append(all, problemsOf(cfg, agents, part)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil && placed(inner) {
		return problemsOf(cfg, agents, inner)
	}
	return []config.Problem{cfg.Problem("", err.Error())}
}

// placed reports whether an error has a mistake whose place in the configuration is known.
func placed(err error) bool {
	return errors.As(err, new(*config.Error)) || errors.As(err, new(*reagent.AgentError)) || errors.As(err, new(*reagent.ModelError)) ||
		errors.As(err, new(*reagent.ServerError))
}

// fieldOf returns the field of a mistake. The list of an agent's tools may lack some of those in the file, so an unknown tool is found there by
// its name.
func fieldOf(cfg *config.Config, agents []reagent.Agent, e *reagent.AgentError) string {
	var index int
	if _, err := fmt.Sscanf(e.Field, "tools[%d]", &index); err != nil {
		return e.Field
	}
	i := slices.IndexFunc(agents, func(a reagent.Agent) bool { return a.Name == e.Agent })
	if i < 0 || index >= len(agents[i].Tools) {
		return e.Field
	}
	return fmt.Sprintf("tools[%d]", slices.Index(cfg.Agents[e.Agent].Tools, agents[i].Tools[index]))
}
