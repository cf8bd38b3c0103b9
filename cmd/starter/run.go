package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

type runOptions struct {
	agent, id, schema  string
	images             []string
	chat, detach, json bool
}

func newRun(g *globals) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] [--] TASK|-",
		Short: "Start an agent and show its messages as they come",
		Long: `run starts an agent and shows its messages as they come. It ends with the
agent's answer; with --chat it ends with the first reply, and the agent waits
for the next message (starter send).

An --id that an agent has which runs finds that agent and shows its messages; the
task is not given to it. TASK is - to read it from standard input.`,
		Example: `  starter run -a assistant What is in the file notes.md?
  starter run -a assistant --id daily-report --detach -- --verbose is a flag, explain it
  starter run -a assistant --chat --id talk Hello
  git diff | starter run -a reviewer -
  starter run -a assistant --image chart.png What does it show?
  starter run -a assistant --output-schema invoice.json Which invoice is due first?`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runAgent(cmd, g, o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.agent, "agent", "a", "", "`name` of the agent (default: the configuration's, if it has one only)")
	f.StringVar(&o.id, "id", "", "`ID` to give the agent (default: a new one)")
	f.BoolVar(&o.chat, "chat", false, "let the agent wait for the next message when it has answered")
	f.BoolVar(&o.detach, "detach", false, "return when the agent is started, and print its ID")
	f.StringArrayVar(&o.images, "image", nil, "show the model an image: a `file` of at most 1 MiB or a web address; may be repeated")
	f.StringVar(&o.schema, "output-schema", "", "`file` with a JSON schema that the answer has to fit")
	f.BoolVar(&o.json, "json", false, "print the agent as JSON, as `starter show --json` does, when it has answered")
	completeAgentNames(g, cmd)
	return cmd
}

func runAgent(cmd *cobra.Command, g *globals, o runOptions, args []string) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	name, err := g.agentName(o.agent)
	if err != nil {
		return err
	}
	task, err := text(cmd, args)
	if err != nil {
		return err
	}
	start := client.StartOptions{ID: o.id, Agent: name, Message: task}
	if start.Images, err = readImages(o.images); err != nil {
		return err
	}
	if o.schema != "" {
		if start.OutputSchema, err = os.ReadFile(o.schema); err != nil {
			return exitf(exitUsage, "--output-schema: %w", err)
		}
		if !json.Valid(start.OutputSchema) {
			return exitf(exitUsage, "--output-schema: %s is not JSON", o.schema)
		}
	}
	c, queue, done, err := g.agents(ctx)
	if err != nil {
		return err
	}
	defer done()
	if o.chat {
		start.Mode = agent.Chat
	}
	if o.id != "" {
		if err := client.CheckID(o.id); err != nil {
			return exitf(exitUsage, "%w", err)
		}
	}
	started, err := c.Start(ctx, start)
	if err != nil {
		return coded(err, queue)
	}
	switch {
	case started.Found && started.Status.Ended():
		goOn := "resume"
		if started.Status == client.Completed {
			goOn = "fork"
		}
		return exitf(exitWrongState, "agent %s has ended (%s): see it with `starter show %s`, go on from it with `starter %s %s`, or start another with --id",
			started.ID, started.Status, started.ID, goOn, started.ID)
	case started.Found:
		fmt.Fprintf(stderr, "Agent %s runs already; it was not given this task.\n", started.ID)
	default:
		fmt.Fprintf(stderr, "Agent %s\n", started.ID)
	}
	if o.detach {
		if o.json {
			return printJSON(stdout, map[string]any{"id": started.ID, "found": started.Found})
		}
		_, err := fmt.Fprintln(stdout, started.ID)
		return err
	}
	words := newPreview(stdout, !o.json)
	defer words.end()
	show := newTranscriptPrinter(words.beside(stdout))
	if o.json {
		show = newTranscriptPrinter(io.Discard)
	}
	wait := newPatience(words.beside(stderr), queue)
	wait.id = started.ID
	defer wait.stop()
	status, err := follow(ctx, c, started.ID, func(p client.Progress) {
		wait.see(p)
		words.see(p)
		if p.Message != nil {
			show.message(*p.Message)
		}
	})
	words.end()
	if err != nil {
		return coded(err, queue)
	}
	return finish(ctx, c, queue, started.ID, status, o.json, stdout)
}

// follow shows an agent's messages until it has nothing to do or has ended.
func follow(ctx context.Context, c *client.Client, id string, see func(client.Progress)) (client.Status, error) {
	for p, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			return "", err
		}
		see(p)
		if p.Status != "" && p.Status != client.Running {
			return p.Status, nil
		}
	}
	return "", context.Cause(ctx)
}

// finish ends a command that waited for an agent: with the agent as JSON, and
// an error where the agent did not answer.
func finish(ctx context.Context, c *client.Client, queue, id string, status client.Status, asJSON bool, stdout io.Writer) error {
	good := status == client.Completed || status == client.Waiting
	if good && !asJSON {
		return nil
	}
	snap, err := c.Show(ctx, id)
	if err != nil {
		return coded(err, queue)
	}
	if asJSON {
		if err := printJSON(stdout, view(snap)); err != nil {
			return err
		}
	}
	if good {
		return nil
	}
	return exitf(exitAgentFailed, "agent %s is %s: %s; %s", id, status, printable.Text(snap.Failure), nextStep(snap))
}

// nextStep says what a person can do about an agent that did not answer.
func nextStep(snap client.Snapshot) string {
	again := "go on with `starter resume --reload " + snap.ID + "`"
	if snap.Status == client.Held {
		again = "go on with `starter send " + snap.ID + " TEXT`"
	}
	switch llm.Class(snap.Class) {
	case llm.NotFound:
		return "check model and base_url in the worker's configuration, restart the worker, then " + again
	case llm.Unauthorized:
		return "check the API key in the worker's environment, under the name in api_key_env, restart the worker, then " + again
	case llm.QuotaExceeded:
		return "check the plan and the billing of the API key, then " + again
	case llm.Connection, llm.Overloaded, llm.RateLimited:
		return "check that base_url in the worker's configuration answers, then " + again
	}
	if snap.Class == protocol.UnknownAgent {
		return "add the agent to the worker's configuration, or name another with -a"
	}
	if snap.Status == client.Held {
		return "put it right and " + again
	}
	return "see `starter show " + snap.ID + "`"
}
