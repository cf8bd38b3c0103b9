package settle

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

// Giving holds the flags of `starter answer` and `starter complete`.
type Giving struct {
	// Kind says which calls the command is for: [client.WaitsForAnswer] or [client.WaitsForResult].
	Kind    client.WaitsFor
	IsError bool

	call string
	wait time.Duration
}

// Command adds to `cmd` what `starter answer` and `starter complete` have in common. `verb` is the word with which the command reports
// its success, such as "Answered".
func (o *Giving) Command(g *session.Flags, cmd *cobra.Command, verb string) *cobra.Command {
	cmd.Args = cobra.MinimumNArgs(2)
	cmd.ValidArgsFunction = g.CompleteIDs(1, client.Running)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		result, err := givenText(cmd, args[1:])
		if err != nil {
			return err
		}
		return session.Change(cmd, g, args[0], o.wait, func(ctx context.Context, c *client.Client, _ func()) error {
			w, err := c.Complete(ctx, args[0], o.call, result, client.CompleteOptions{For: o.Kind, IsError: o.IsError})
			if err != nil {
				return refused(err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s %s\n", verb, namedCall(w))
			return nil
		})
	}
	cmd.Flags().StringVar(&o.call, "call", "", "`name` of the call, as \"starter inbox\" shows it (default: the only one that is waiting)")
	session.AddWait(cmd, &o.wait, session.DefaultWait)
	return cmd
}

// givenText returns the text of an answer or of a result, as [input.Text] does. If the text is too long or not UTF-8, so that no agent
// takes it, the error has the code [exit.Usage].
func givenText(cmd *cobra.Command, args []string) (string, error) {
	given, err := input.TextUpTo(cmd, args, agent.MaxGivenBytes)
	switch {
	case err != nil:
		return "", err
	case len(given) > agent.MaxGivenBytes:
		return "", exit.Errorf(exit.Usage, "the text is larger than the limit of %d bytes; shorten it", agent.MaxGivenBytes)
	case !utf8.ValidString(given): // the history has JSON, which cannot keep other bytes
		return "", exit.Errorf(exit.Usage, "the text is not UTF-8; convert it to UTF-8 first")
	}
	return given, nil
}
