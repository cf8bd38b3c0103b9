package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

func newReload(g *session.Flags) *cobra.Command {
	return bulk.Offer(g, session.Changing(g, &cobra.Command{
		Use:   "reload {ID | --where EXPRESSION}",
		Short: "Give a running agent its new configuration",
		Long: `reload gives a running agent the current definition that its workers have: model,
instructions, tools and limits. A worker reads its configuration only when it starts, so
restart the workers first.

  - The agent takes the new definition as soon as no model call is running and all its
    tool and sub-agent calls have their results.
  - The agent keeps its messages. Its sub-agents keep their definitions.
  - If the definition cannot be read, nothing changes.
  - A held turn stays held until you send the agent a message.

For an agent that has ended, use "starter resume --reload".

With --where, reload waits at most 5 seconds for each agent to load its definition.
"starter show --json" prints the digest of an agent's definition: so you find the agents
that still have another one.`,
		Example: `  starter reload talk
  starter reload --where 'agent == "support" and digest != "3f2a91c4d07b"'`,
	}, func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, taken func()) error {
		err := c.ReloadAndWait(ctx, id, func() {
			taken()
			fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s reads its definition when no model or tool call runs\n", id)
		})
		if errors.As(err, new(*client.ReloadError)) {
			return exit.Errorf(exit.WrongState, "%w", err)
		}
		if err != nil {
			return session.GoesOn(cmd.Context(), err, id)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s has its new definition\n", id)
		return nil
	}), nil, func(cmd *cobra.Command, _ []string) (bulk.Action, error) {
		return bulk.Action{Verb: "Reload", Done: "reloaded", Statuses: bulk.Open, Do: bulk.Reached(cmd, reloadSoon)}, nil
	})
}

// loadWait is how long `starter reload --where` waits for an agent that has accepted the request. An agent may wait for days for the result
// of a call before it loads its definition.
const loadWait = 5 * time.Second

var errLoadsLater = errors.New("the agent loads its definition later")

// reloadSoon asks an agent to load its definition, and waits for a moment until it has done so.
func reloadSoon(ctx context.Context, t bulk.Target, _ client.Snapshot) (bulk.Outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var accepted *time.Timer
	err := t.Client.ReloadAndWait(ctx, t.ID, func() { accepted = time.AfterFunc(loadWait, func() { stop(errLoadsLater) }) })
	if accepted != nil {
		accepted.Stop()
	}
	if err != nil && errors.Is(context.Cause(ctx), errLoadsLater) {
		return bulk.Outcome{Note: "it reads its definition when its calls have ended"}, nil
	}
	return bulk.UnlessEnded(err)
}
