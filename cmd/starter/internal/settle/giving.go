package settle

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Giving holds the flags of `starter answer` and `starter complete`.
type Giving struct {
	// Kind says which calls the command is for: [client.WaitsForAnswer] or [client.WaitsForResult].
	Kind    client.WaitsFor
	IsError bool

	call string
	json bool
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
			call, given := o.call, result
			if o.Kind == client.WaitsForAnswer && !o.IsError {
				var err error
				if call, given, err = Chosen(ctx, c.Agent(args[0]), call, result); err != nil {
					return err
				}
			}
			w, err := c.Complete(ctx, args[0], call, given, client.CompleteOptions{For: o.Kind, IsError: o.IsError})
			if err != nil {
				return refused(err)
			}
			if o.json {
				return object.Print(cmd.OutOrStdout(), o.object(w, given))
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s %s%s\n", verb, namedCall(w), ChoiceText(result, given))
			return err
		})
	}
	cmd.Flags().StringVar(&o.call, "call", "", "handle or key of the `call`, as \"starter inbox\" shows it (default: the only one that is waiting)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the call and what it was given as an object")
	session.AddWait(cmd, &o.wait, session.DefaultWait)
	return cmd
}

func (o Giving) object(w client.Waits, given string) object.Decision {
	verdict := object.Completed
	if o.Kind == client.WaitsForAnswer {
		verdict = object.Answered
	}
	d := object.NewDecision(w, verdict)
	d.Given, d.IsError = given, o.IsError
	return d
}

// number matches a text that can be the number of a choice.
var number = regexp.MustCompile(`^\s*[1-9][0-9]*\s*$`)

// Chosen returns the answer for a text that a person has given, and the name of the question that it answers. If the text is a number, and
// the agent with the given name of a question or its only question has a choice with this number, the answer is the choice. Otherwise, the
// results are the name and the text as they are. Only for a number, Chosen asks what waits.
func Chosen(ctx context.Context, a *client.Agent, call, text string) (name, answer string, err error) {
	if !number.MatchString(text) {
		return call, text, nil
	}
	waiting, err := a.Pending(ctx)
	if err != nil {
		return call, text, err
	}
	waiting = slices.DeleteFunc(waiting, func(w client.Waits) bool {
		return w.Call.WaitsFor() != client.WaitsForAnswer || call != "" && call != w.Handle() && call != string(w.Call.Key)
	})
	if len(waiting) != 1 {
		return call, text, nil // the agent refuses the answer, and says why
	}
	q, _ := waiting[0].Call.Question()
	return waiting[0].Handle(), q.Answer(text), nil
}

// ChoiceText says which choice a person has given by its number; empty if the answer is the text itself.
func ChoiceText(text, answer string) string {
	if text == answer {
		return ""
	}
	return " with: " + printable.Line(answer, 200)
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
