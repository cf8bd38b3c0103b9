package bulk

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Reached returns the function `do` of an [Action] that needs a worker: it waits until a worker answers for the agent, and then calls `do`
// with the agent as it is then. Both together may take as long as the flag --wait of the command says.
func Reached(
	cmd *cobra.Command, do func(ctx context.Context, t Target, before client.Snapshot) (Outcome, error),
) func(ctx context.Context, t Target) (Outcome, error) {
	limit, _ := cmd.Flags().GetDuration("wait") // the command has this flag
	return func(ctx context.Context, t Target) (Outcome, error) {
		ctx, _, cancel := session.Within(ctx, limit)
		defer cancel()
		before, err := t.Client.Await(ctx, t.ID, nil)
		if err != nil {
			return Outcome{}, err
		}
		return do(ctx, t, before)
	}
}

// UnlessEnded returns the outcome of an action that has nothing to do if the agent has ended. `err` is the error of the action.
func UnlessEnded(err error) (Outcome, error) {
	if ended, ok := errors.AsType[*client.ClosedError](err); ok {
		return Outcome{object.Already, "it has ended: " + string(ended.Status)}, nil
	}
	return Outcome{}, err
}
