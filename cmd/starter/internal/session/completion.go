package session

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
	completeLimit   = 200
)

// CompleteIDs returns the completion for a command whose arguments are agent IDs. The completion offers the IDs of agents with one of the
// given statuses, the newest 200 at most. Without statuses, it offers the IDs of all agents. For [client.Running], it also offers agents
// that wait, and agents that are held (stopped by a failure). The command accepts at most `maxIDs` IDs; 0 means any number. If Temporal
// does not answer, the completion offers nothing.
func (g *Flags) CompleteIDs(maxIDs int, statuses ...client.Status) cobra.CompletionFunc {
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
		c, _, done, err := g.AgentsOf(ctx, "")
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

// CompleteAgentNames adds a completion to the flag `--agent` of a command. The completion offers the names of the agents in
// the configuration.
func (g *Flags) CompleteAgentNames(cmd *cobra.Command) {
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
