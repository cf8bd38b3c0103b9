package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// keysText and commandsText fit into [helpWidth] columns, with an indent of two.
const keysText = `Keys
Enter       sends; Ctrl-J, Alt-Enter and Shift-Enter begin a new line
Esc         clears the input; if it is empty, interrupts the agent; while a
            call waits for you, press it twice
y n a       approve the call with the mark ?, deny it with a reason, or
            approve it and all calls of its tool by its agent, also later ones;
            y and a first show the lines of the call that you have not seen
Tab         selects a call, Shift-Tab the next newer one; Enter expands it
Ctrl-O      expands all calls, reasoning and sub-agents, and folds them
PgUp PgDn   scroll, Home and End to the first and the last line
Tab         completes a command, or a file after @; a message brings the
            text of the files that it names, such as @notes.md
Ctrl-F      finds a text in the conversation; Ctrl-T goes up to the beginning
            of an answer
Ctrl-G      opens the input in $VISUAL or $EDITOR
Up          brings back what you typed, also in earlier chats; Ctrl-L redraws
Ctrl-C      twice detaches: the agent goes on; Ctrl-Z suspends the chat
While the agent works, a message steers it. A message answers its question.
`

const commandsText = `Commands
/aside QUESTION          asks the model a question while the agent works
/approve [CALL] [--all] [--for-agent | --for-agent-call | --arguments JSON]
                         approves a call, and with --for-agent later ones, too
/deny [CALL] [--all] [REASON]
/permissions             lists what the agent may do without asking you
/revoke [NAME...]        revokes permissions; without a name, all of them
/interrupt               interrupts the agent
/fork [N]                goes on in a new agent with the first N messages
/chats                   lists the agents; Enter goes on with another one
/model [NAME]            the models; chooses one for your next messages, and
                         - the agent's own
/cost                    tokens and cost
/copy                    copies the last reply, if your terminal allows it
/quit                    detaches
/help                    this text
A message that begins with two slashes is sent with one.`

// command is what a person types instead of a message, such as "/deny 3f2a91c4 too expensive".
type command struct {
	name string
	// rest is the text after the name, without white space at its ends.
	rest string
}

// commandOf returns false if the text is a message. A text of several lines is a message, unless its command takes a text.
func commandOf(text string) (command, bool) {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return command{}, false
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "\n", " "), " ")
	c := command{name, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), name))}
	takesText := slices.Contains([]string{"/aside", "/approve", "/deny"}, c.name)
	return c, takesText || !strings.Contains(strings.TrimSpace(text), "\n")
}

// messageOf returns the message for a text that is no command. Two slashes at its beginning become one.
func messageOf(text string) string {
	if strings.HasPrefix(text, "//") {
		return text[1:]
	}
	return text
}

// check returns an error if the command does not exist, needs an agent although none was started yet, or needs a text and has none.
func (c command) check(started bool) error {
	switch {
	case !slices.Contains(agentCommands, c.name):
		return fmt.Errorf("there is no command %s; /help lists them. To send this as a message, begin it with two slashes", printable.Name(c.name))
	case !started:
		return errors.New("there is no agent yet: the first message starts it")
	case c.name == "/aside" && c.rest == "":
		return errors.New("/aside takes a question, such as /aside What are you doing?")
	}
	return nil
}

var agentCommands = []string{"/aside", "/approve", "/deny", "/model", "/cost", "/permissions", "/revoke", "/interrupt", "/fork"}

// forkPoint returns the number of messages that a fork keeps; 0 means all. It returns an error if the command has a text that is not a
// positive number.
func (c command) forkPoint() (int, error) {
	if c.rest == "" {
		return 0, nil
	}
	at, err := strconv.Atoi(c.rest)
	if err != nil || at < 1 {
		return 0, errors.New("/fork takes the number of messages that the fork keeps, such as /fork 4")
	}
	return at, nil
}

// command carries out a command of the person. An error says why the command cannot be carried out as it was typed; the person can then
// correct it.
func (m *model) command(c command) (tea.Cmd, error) {
	m.up = 0
	switch c.name {
	case "/help":
		m.items = append(m.items, &item{kind: helpItem, index: -1})
		m.show(m.items[len(m.items)-1])
		return nil, nil
	case "/model":
		if c.rest != "" {
			return nil, m.chooseModel(c.rest)
		}
		m.note(m.choice.text(m.id, m.snap))
		return nil, nil
	case "/chats":
		return m.chats(), nil
	case "/quit":
		return tea.Quit, nil
	case "/copy":
		return m.copyReply()
	}
	if err := c.check(m.started); err != nil {
		return nil, err
	}
	switch c.name {
	case "/approve", "/deny":
		all, err := verdictsOf(c, m.waits)
		if err != nil {
			return nil, err
		}
		var decide []tea.Cmd
		for _, v := range all {
			decide = append(decide, m.decide(v))
		}
		return tea.Batch(decide...), nil
	case "/aside":
		return m.ask(c.rest), nil
	case "/cost":
		return m.tell(cost), nil
	case "/permissions":
		return m.tell(permissions), nil
	case "/revoke":
		return m.tell(func(ctx context.Context, agents Agents, id string) (string, error) {
			return revoke(ctx, agents, id, strings.Fields(c.rest))
		}), nil
	case "/interrupt":
		return m.interrupt(), nil
	}
	at, err := c.forkPoint()
	if err != nil {
		return nil, err
	}
	return m.fork(at), nil
}

// chooseModel carries out /model with a name.
func (m *model) chooseModel(name string) error {
	var start *client.StartOptions
	switch {
	case m.started:
	case len(m.outbox) > 0:
		return errors.New("the first message is being sent; wait until the agent has it")
	default:
		start = m.o.Start
	}
	text, err := m.choice.choose(name, m.id, m.snap.ModelChoices, start)
	if err == nil {
		m.note(text)
	}
	return err
}

// copyReply puts the last reply into the clipboard, by a control sequence with its base64. tmux takes the sequence itself or passes it on to
// its terminal, as its options allow, so it gets both forms.
func (m *model) copyReply() (tea.Cmd, error) {
	for _, it := range slices.Backward(m.items) {
		if it.kind == replyItem && it.text != "" {
			text := fmt.Sprintf("Sent the last reply (%s bytes) to the clipboard of the terminal", grouped(len(it.text)))
			if !m.tmux {
				m.note(text + ", if it allows OSC 52.")
				return tea.SetClipboard(it.text), nil
			}
			m.note(text + " through tmux, which passes it on after `tmux set -g set-clipboard on` or `tmux set -g allow-passthrough on`.")
			set := ansi.SetSystemClipboard(it.text)
			return tea.Raw(set + ansi.TmuxPassthrough(set)), nil
		}
	}
	return nil, errors.New("there is no reply yet")
}

type toldMsg struct {
	attached int
	text     string
	err      error
}

// tell asks for a text about the agent, and adds it to the conversation as a note.
func (m *model) tell(ask func(ctx context.Context, agents Agents, id string) (string, error)) tea.Cmd {
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	return func() tea.Msg {
		text, err := ask(ctx, agents, id)
		return toldMsg{attached, text, err}
	}
}
