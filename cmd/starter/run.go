package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
	"github.com/reagent-dev/reagent/tool"
)

type runOptions struct {
	turn.Options

	start  client.StartOptions
	schema string
	chat   bool
}

func newRun(g *session.Flags) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] [--] [TASK|-]",
		Short: "Start an agent and show its messages as they come",
		Long: `run starts an agent and shows its messages as they come. It returns when the agent has
answered, has ended or is held (a failure or an interrupt has stopped its turn). With
--chat, the agent waits after its answer for the next message (starter send). Messages go to
standard output, and the tokens and the cost at the end to standard error. On a terminal,
run renders Markdown, unless the environment variable NO_COLOR is set.

If TASK is "-", run reads it from standard input. It does the same if there is no TASK and
standard input is not a terminal.

The agent runs on Temporal and on the workers, so the agent goes on if you interrupt run. If
no worker answers, or no worker has the agent, run waits; --wait limits this time.

A script can repeat run with the same --id:

  - If an agent with this ID exists and has the same task, run starts nothing. It shows the
    messages of this agent, and ends as the first run does, with the same answer and exit
    code, even if the agent has ended. The task is the same if the agent's name, the text,
    the images, the output schema, the metadata, the overrides and --chat are the same.
  - If the ID belongs to any other agent, or to a chat that has ended, the exit code is 7.

--model, --reasoning-effort, --add-instructions, --only-tool and --limit are overrides: they
change the agent's configuration for this agent only, within what the configuration allows.

If a limit of the agent ends its turn, the exit code is 6. If a guardrail, or the person whom
it asked, refuses the message or the answer, it is 9.`,
		Example: `  starter run -a assistant 'What is in the file notes.md?'
  starter run -a assistant --id daily-report --detach -- '--verbose is a flag. Explain it.'
  starter run -a assistant --chat --id talk Hello
  git diff | starter run -a reviewer -
  answer=$(starter run -q -a assistant 'What is 6 times 7?')
  starter run -a support --chat --metadata customer=42 --metadata user=ann 'Where is my order?'
  starter run -a assistant --image chart.png 'What does it show?'
  starter run -a assistant --output-schema invoice.json 'Which invoice is due first?'`,
		RunE: func(cmd *cobra.Command, args []string) error { return runAgent(cmd, g, o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.start.Agent, "agent", "a", "", "`name` of the agent (default: the only agent of the configuration)")
	f.StringVar(&o.start.ID, "id", "", "`ID` of the agent (default: the name of the agent and 8 random characters)")
	f.BoolVar(&o.chat, "chat", false, "let the agent wait for the next message when it has answered, instead of ending")
	f.StringArrayVar(&o.start.Images, "image", nil, "show the model an image: a `file` or a web address; you can repeat the flag; all files together have at most 1 MiB")
	f.StringVar(&o.schema, "output-schema", "", "`file` with a JSON schema that the answer must fit")
	f.IntVar(&o.start.Priority, "priority", 0, "priority `N` of the agent if tasks are waiting for workers, from 1 (first) to 5 (last) (default: 2 with --chat, else 3)")
	f.StringVar(&o.start.Tenant, "tenant", "", "`name` of the tenant for whom the agent works, at most 64 bytes; if tasks are waiting for workers, tenants take turns")
	input.AddMetadata(f, &o.start.Metadata, "what tools, hooks and people get to know about the agent, such as the customer; no model sees it")
	f.StringArrayVar(&o.start.Searchable, "searchable", nil, "`name` in the metadata that is also a search attribute (Keyword) of the namespace; you can repeat the flag")
	input.AddOverrides(f, &o.start.Overrides)
	o.AddFlags(cmd)
	g.CompleteAgentNames(cmd)
	return cmd
}

func runAgent(cmd *cobra.Command, g *session.Flags, o runOptions, args []string) error {
	ctx, stderr, start := cmd.Context(), cmd.ErrOrStderr(), o.start
	var err error
	if start.Agent, err = g.AgentName(start.Agent); err != nil {
		return err
	}
	if start.Message, err = input.Text(cmd, args); err != nil {
		return err
	}
	if err := protocol.CheckPriority(start.Priority); err != nil {
		return exit.Errorf(exit.Usage, "--priority: %w", err)
	}
	if err := protocol.CheckTenant(start.Tenant); err != nil {
		return exit.Errorf(exit.Usage, "--tenant: %w", err)
	}
	if start.Images, err = input.Images(start.Images); err != nil {
		return err
	}
	if o.schema != "" {
		if start.OutputSchema, err = os.ReadFile(o.schema); err != nil {
			return exit.Errorf(exit.Usage, "--output-schema: the file cannot be read: %w; name a file with a JSON schema", err)
		}
		if !json.Valid(start.OutputSchema) {
			return exit.Errorf(exit.Usage, "--output-schema: %s is not JSON; name a file with a JSON schema", o.schema)
		}
		if err := tool.CheckSchema(start.OutputSchema); err != nil {
			return exit.Errorf(exit.Usage, "--output-schema: %s: %w", o.schema, err)
		}
	}
	c, queue, done, err := g.Agents(ctx)
	if err != nil {
		return err
	}
	defer done()
	if o.chat {
		start.Mode = agent.Chat
	}
	if start.ID != "" {
		if err := client.CheckID(start.ID); err != nil {
			return exit.Errorf(exit.Usage, "%w", err)
		}
	}
	start.PartialText = !o.Detach && !o.JSON && !o.Quiet && screen.Redraws(cmd.OutOrStdout())
	started, err := c.Start(ctx, start)
	if err != nil {
		return session.WithExitCode(err, queue)
	}
	same := false
	if started.Found {
		if same, err = c.Same(ctx, start); err != nil {
			return session.WithExitCode(err, queue)
		}
	}
	switch {
	case started.Found && started.Status.Ended() && (!same || o.chat):
		what := "an agent with another task"
		if same {
			what = "this chat"
		}
		return exit.Errorf(exit.Taken, "the ID %s is taken by %s, which has ended (%s); this task was not started; %s; or choose another --id",
			started.ID, what, started.Status, session.GoOnFrom(started.ID, started.Status))
	case started.Found && !same:
		return exit.Errorf(exit.Taken, "the ID %s is taken: an agent with this ID has another task and is %s; this task was not started; follow it with `%s`, give it a message with `%s`, or choose another --id",
			started.ID, started.Status, shellword.Starter("tail", started.ID), shellword.Starter("send", started.ID).Then("TEXT"))
	case started.Found && started.Status.Ended():
		fmt.Fprintf(stderr, "Agent %s has ended with this task already (%s); it was not started again.\n", started.ID, started.Status)
	case started.Found:
		fmt.Fprintf(stderr, "Agent %s is running with this task already; it was not started again.\n", started.ID)
	case !o.Quiet:
		fmt.Fprintf(stderr, "Agent %s\n", started.ID)
	}
	if !o.Quiet && !o.JSON {
		o.Link = g.Link(ctx, started.ID)
	}
	o.Asked = start.PartialText && !started.Found
	return o.Show(cmd, c, queue, started)
}
