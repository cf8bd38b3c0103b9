package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/trail"
	"github.com/reagent-dev/reagent/internal/app/audit"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newAudit(g *session.Flags) *cobra.Command {
	var since, copied string
	var asJSON, noContent bool
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show who asked, who allowed what, what ran and what came back",
		Long: `audit prints the audit trail of an agent and of its sub-agents, or of all agents, from
their Temporal histories: who asked, what the model proposed, who allowed it with which
arguments, what ran and what came back. It includes runs that a reset has ended. It needs
no worker. Names of people are as their clients state them.

With --json, each line has the hash of the line before, so that a changed, removed, moved
or inserted line is found: "audit --verify FILE" checks a copy against itself and, if
Temporal can be reached, against the histories that it still has. Keep the hash of the last
line elsewhere: whoever can write the file can also make all hashes anew.

Temporal deletes a history at the end of the namespace's retention. "starter forget" deletes
it at once. Export the trail before: see docs/audit.md. With --verify, the exit code is 12 if the
copy was changed.`,
		Example: `  starter audit order-7
  starter audit --since 24h --json   # each day, by cron, into a file
  starter audit --since 2026-01-01T00:00:00Z --json --no-content
  starter audit --verify audit-2026-01-02.jsonl`,
		Args:              usage.UpToOneID,
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if copied != "" {
				return verify(cmd, g, args, copied, asJSON)
			}
			scope := audit.Scope{}
			if len(args) > 0 {
				scope.ID = args[0]
			}
			var err error
			if scope.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			return printTrail(cmd, g, scope, asJSON, noContent)
		},
	}
	f := cmd.Flags()
	f.StringVar(&since, "since", "", "leave out what happened before: a `duration` such as 24h, or a time such as 2026-01-02T15:04:05Z")
	f.StringVar(&copied, "verify", "", "check the trail in a `file` that --json has written")
	f.BoolVar(&noContent, "no-content", false, "leave out messages, arguments, results and reasons; their hashes stay")
	f.BoolVar(&asJSON, "json", false, "print an object on a line for each line of the trail; with --verify, for each finding")
	cmd.MarkFlagsMutuallyExclusive("verify", "since")
	cmd.MarkFlagsMutuallyExclusive("verify", "no-content")
	return cmd
}

func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, exit.Errorf(exit.Usage, "--since is %q; it must be a duration such as 24h, or a time such as 2026-01-02T15:04:05Z", text)
	}
	return at, nil
}

func printTrail(cmd *cobra.Command, g *session.Flags, scope audit.Scope, asJSON, noContent bool) error {
	c, queue, done, err := g.AgentsOf(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer done()
	out := cmd.OutOrStdout()
	_, err = trail.Make(cmd.Context(), c, scope, func(l object.AuditLine) error {
		if noContent {
			l = audit.WithoutTexts(l)
		}
		if asJSON {
			return object.Print(out, l)
		}
		if text := trail.Text(l); text != "" {
			_, err := fmt.Fprintln(out, text)
			return err
		}
		return nil
	})
	return session.WithExitCode(err, queue)
}

func verify(cmd *cobra.Command, g *session.Flags, args []string, name string, asJSON bool) error {
	if len(args) > 0 {
		return exit.Errorf(exit.Usage, "--verify reads the agent from the file; leave out %q", args[0])
	}
	file, err := os.Open(name)
	if err != nil {
		return exit.Errorf(exit.Usage, "%w", err)
	}
	defer file.Close()
	c, queue, done, err := g.AgentsOf(cmd.Context(), "")
	switch {
	case err == nil:
		defer done()
	case exit.CodeOf(err) != exit.Unreachable:
		return err
	}
	found, err := trail.Verify(cmd.Context(), c, name, file)
	if err != nil {
		return session.WithExitCode(err, queue)
	}
	tampered := error(nil)
	for _, f := range found {
		if f.Level == object.Wrong {
			tampered = exit.Errorf(exit.Tampered, "%s is not the trail that starter has written", name)
		}
		if asJSON {
			err = object.Print(cmd.OutOrStdout(), f)
		} else {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), f.Finding)
		}
		if err != nil {
			return errors.Join(err, tampered)
		}
	}
	return tampered
}
