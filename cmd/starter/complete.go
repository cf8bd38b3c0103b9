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
	// completeTimeout limits how long a press of Tab waits for Temporal.
	completeTimeout = 2 * time.Second
	// completeLimit limits the number of agents that one completion offers.
	completeLimit = 200
)

// completion is a function that cobra calls when the user presses Tab. It returns the possible values of an argument.
type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeIDs returns a completion for the arguments of a command that takes agent IDs. It offers the IDs of agents with
// one of the given statuses, or of all agents if no status is given. For [client.Running] it also offers agents that wait
// or are held. maxIDs is the largest number of IDs that the command accepts; 0 means any number. The completion offers
// nothing if Temporal does not answer.
func completeIDs(g *globals, maxIDs int, statuses ...client.Status) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if maxIDs > 0 && len(args) >= maxIDs {
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
		// Keep the order of the list: the newest agent comes first.
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeAgentNames adds a completion to the flag --agent of a command. It offers the names of the agents in the
// configuration.
func completeAgentNames(g *globals, cmd *cobra.Command) {
	// This fails only if the command has no such flag, or the flag has a completion already.
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
