package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/chat"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newChat(g *session.Flags) *cobra.Command {
	start := client.StartOptions{Mode: agent.Chat}
	cmd := &cobra.Command{
		Use:   "chat [flags] [ID]",
		Short: "Talk with an agent on the terminal",
		Long: `chat is a conversation with an agent on the terminal:

  - Without an ID, your first message starts a new agent.
  - With the ID of an agent, chat shows what was said and goes on from there.
  - With -a and an ID that no agent has, the new agent gets this ID.

The text of a reply appears while the model writes it. Each call takes one line. A call
that is waiting for an approval is shown with its arguments. If the agent asks a question,
your next message is the answer. The most important keys and commands are:

  y, n, a          approve the call; deny it with a reason; approve it and all calls
                   of this tool by this agent that wait or come later
  /approve, /deny  decide on a call by its name, or with --all on all calls
  Tab, Enter       select a call; show it in full
  Ctrl-O           shows all calls in full
  Esc              clears the input; if it is empty, interrupts the agent
  @notes.md        brings the text of the file; Tab completes files and commands
  Ctrl-G           opens the input in $VISUAL or $EDITOR
  Ctrl-F, Ctrl-T   find a text; go up to the beginning of an answer
  Up               brings back what you typed, also in earlier chats
  /chats           lists the agents, and goes on with another one
  /aside           asks the model a question while the agent works
  Ctrl-C twice     detaches: the agent goes on
  Ctrl-Z           suspends the chat
  /help            shows all keys and commands

The agent runs on Temporal and on the workers, and not in this program. After you have
detached, "starter chat ID" comes back to it. What you type is kept for the key Up in the
file reagent/chat-history in $XDG_STATE_HOME (default: ~/.local/state).

If standard input or output is not a terminal, or TERM is dumb, chat reads a message or a
command from each line and prints the answers, without control sequences. To send a
message that begins with a slash, write two slashes. NO_COLOR turns off colours.`,
		Example: `  starter chat -a assistant
  starter chat talk
  starter chat -a assistant talk
  printf 'Hello\nAnd in French?\n' | starter chat -a assistant`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return runChat(cmd, g, id, start)
		},
	}
	cmd.Flags().StringVarP(&start.Agent, "agent", "a", "", "`name` of the agent to start (default: the only agent of the configuration)")
	cmd.Flags().StringVar(&start.Tenant, "tenant", "", "`name` of the tenant for whom a new agent works, at most 64 bytes; if tasks are waiting for workers, tenants take turns")
	g.CompleteAgentNames(cmd)
	return cmd
}

func goOnFrom(id string, status client.Status) string { return session.GoOnFrom(id, status).String() }

// runChat talks with the agent with the given ID. The first message starts a new agent if the ID is empty, or if no agent has the ID and
// `start` names a definition.
func runChat(cmd *cobra.Command, g *session.Flags, id string, start client.StartOptions) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if err := protocol.CheckTenant(start.Tenant); err != nil {
		return exit.Errorf(exit.Usage, "--tenant: %w", err)
	}
	c, queue, found, done, err := chatAgents(cmd, g, id, &start)
	if err != nil {
		return err
	}
	defer done()
	o := chat.Options{Agents: c, ID: id, NoWorker: fmt.Sprintf("no worker answers: start `%s` (task queue %s)", progress.StartWorker, queue), GoOn: goOnFrom, Files: "."}
	if !found {
		o.ID, o.Start = start.ID, &start
	}
	var end chat.Result
	in, onTerminal := cmd.InOrStdin().(*os.File)
	onTerminal = onTerminal && term.IsTerminal(in.Fd()) && screen.Redraws(cmd.OutOrStdout())
	if onTerminal {
		if o.History, err = openHistory(); err != nil {
			fmt.Fprintf(stderr, "%v; what you type is not kept for later chats.\n", err)
		}
		end, err = chat.Run(ctx, o, in, printable.Unwrap(cmd.OutOrStdout()))
	} else {
		end, err = chat.RunPlain(ctx, o, cmd.InOrStdin(), cmd.OutOrStdout(), stderr)
	}
	for _, line := range end.Undelivered {
		fmt.Fprintln(stderr, line)
	}
	if err != nil {
		return session.GoesOn(ctx, session.WithExitCode(err, queue), end.ID)
	}
	if end.Started && !end.Status.Ended() {
		fmt.Fprintf(stderr, "Agent %s goes on.\nCome back with `%s`; `%s` ends it.\n", end.ID, shellword.Starter("chat", end.ID), shellword.Starter("close", end.ID))
	}
	if onTerminal || !end.Started {
		return nil // the person has seen how the turn ended
	}
	return plainEnd(cmd, c, queue, end)
}

func openHistory() (*chat.History, error) {
	path, err := chat.HistoryPath()
	if err != nil {
		return nil, err
	}
	return chat.OpenHistory(path)
}

// chatAgents connects to Temporal for a chat. `found` says whether the agent with the ID exists. If it does not, chatAgents fills in
// `start`, the options with which the chat starts it.
func chatAgents(cmd *cobra.Command, g *session.Flags, id string, start *client.StartOptions) (c *client.Client, queue string, found bool, done func(), err error) {
	if id != "" {
		c, queue, done, err = g.AgentsOf(cmd.Context(), id)
		if err == nil && g.Queue != "" { // with the flag, AgentsOf does not notice that there is no such agent
			if _, err = c.TaskQueue(cmd.Context(), id); err != nil {
				done()
				err = session.WithExitCode(err, queue)
			}
		}
		if errors.Is(err, client.ErrNotFound) && start.Agent == "" {
			return nil, "", false, nil, exit.Errorf(exit.WrongState, "%w; `%s` starts a new agent with this ID", err, shellword.Starter("chat", id).With("-a NAME"))
		}
		if !errors.Is(err, client.ErrNotFound) {
			return c, queue, err == nil, done, err
		}
		if err := client.CheckID(id); err != nil {
			return nil, "", false, nil, exit.Errorf(exit.Usage, "%w", err)
		}
	}
	if start.Agent, err = g.AgentName(start.Agent); err != nil {
		return nil, "", false, nil, err
	}
	if start.ID = id; id == "" {
		start.ID = start.Agent + "-" + uuid.NewString()[:8]
	}
	c, queue, done, err = g.Agents(cmd.Context())
	return c, queue, false, done, err
}

func plainEnd(cmd *cobra.Command, c *client.Client, queue string, end chat.Result) error {
	snap, err := c.ShowRecorded(cmd.Context(), end.ID)
	if err != nil {
		return session.WithExitCode(err, queue)
	}
	if snap.Status = end.Status; end.Status.Ended() {
		return exit.Errorf(exit.WrongState, "agent %s has ended (%s): %s", end.ID, end.Status, session.GoOnFrom(end.ID, end.Status))
	}
	return turn.Verdict(snap)
}
