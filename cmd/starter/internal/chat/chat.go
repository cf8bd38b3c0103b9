// Package chat is the conversation with one agent on a terminal. It stores nothing: all that it shows comes from the agent, so a
// chat can end at any time, and another one can go on from there.
package chat

import (
	"context"
	"errors"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/client"
)

// Options say which agent a person talks with. All fields except `Start`, `History` and `Files` are required.
type Options struct {
	// Agents reads and changes agents.
	Agents Agents
	// ID is the ID of the agent.
	ID string
	// Start starts the agent with the first message. If it is nil, the agent exists already.
	Start *client.StartOptions
	// NoWorker is the text that tells the person to start a worker, if none answers.
	NoWorker string
	// GoOn returns the text that tells the person how to go on with an agent that has ended.
	GoOn func(id string, status client.Status) string
	// History has the texts that the person has typed in earlier chats; nil means none. The chat adds to it.
	History *History
	// Files is the folder in which the names of files in messages are looked up, such as @notes.md. If it is empty, messages bring no files.
	Files string
}

// Result says how a chat ended.
type Result struct {
	// ID is the ID of the agent with which the person talked last. It differs from that of the options after a fork.
	ID string
	// Started is false if the chat was to start an agent and has not done so, because there was no message.
	Started bool
	// Status is the last known status of the agent; empty if it is unknown.
	Status client.Status
	// Undelivered has a line for each message, answer and decision of which it is not known that the agent has it, with the command that
	// delivers it. Nil means that there is none.
	Undelivered []string
}

// Run shows the chat on a terminal until the person leaves it. Then it writes the conversation to the terminal, where the person can scroll
// back to it. in and out must be a terminal that can move its cursor. The program writes
// control sequences to out; all texts of the agent are made safe first. If ctx ends, the error is that of ctx. If the progress of the agent
// cannot be read any more, Run returns the reason as an error.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, o)
	m.tmux = os.Getenv("TMUX") != ""
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		err = context.Cause(ctx)
	}
	_, left := io.WriteString(out, m.left(os.Getenv("NO_COLOR") == ""))
	return m.result(), errors.Join(err, m.failure, left)
}
