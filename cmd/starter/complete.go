package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// completeTimeout bounds what a person waits for after a press of Tab.
	completeTimeout = 2 * time.Second
	// completeLimit bounds how many agents are offered.
	completeLimit = 200
)

type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeIDs offers the IDs of agents in one of the statuses, all if none is given, for the
// first most arguments; 0 means for every argument. Where there is no Temporal it offers nothing.
func completeIDs(g *globals, most int, statuses ...client.Status) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		c, _, done, err := g.agentsOf(ctx, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		var offers []cobra.Completion
		for e, err := range c.List(ctx, client.ListOptions{Statuses: statuses}) {
			if err != nil || len(offers) == completeLimit {
				break
			}
			if strings.HasPrefix(e.ID, begun) && client.CheckID(e.ID) == nil && !slices.Contains(args, e.ID) {
				offers = append(offers, cobra.CompletionWithDesc(e.ID, printable.Name(e.Agent)+", "+string(e.Status)))
			}
		}
		// As the list comes: the newest first.
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeAgentNames offers the agents of the configuration for --agent.
func completeAgentNames(g *globals, cmd *cobra.Command) {
	// It fails for a flag that is not there only.
	_ = cmd.RegisterFlagCompletionFunc("agent", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cfg, err := g.config()
		if err != nil || cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offers []cobra.Completion
		for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
			offers = append(offers, cobra.CompletionWithDesc(name, printable.Line(cfg.Agents[name].Description, 200)))
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	})
}
