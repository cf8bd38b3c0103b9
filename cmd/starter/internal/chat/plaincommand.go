package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

func (c command) decides() bool { return c.name == "/approve" || c.name == "/deny" }

// forWork reports whether the command is for an agent that works, so that it does not wait for the end of the turn.
func (c command) forWork() bool { return c.name == "/aside" || c.name == "/interrupt" }

// forNext reports whether the command is for the messages behind it, so that it waits for those before it.
func (c command) forNext() bool { return c.name == "/fork" || c.name == "/model" }

// command carries out a command of the person. Its error ends the chat: it is [errQuit], or says why ctx has ended. All other errors are
// only shown.
func (p *plainChat) command(ctx context.Context, c command) error {
	if c.name == "/quit" {
		return errQuit
	}
	text, err := p.answer(ctx, c)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, client.ErrNoServer):
		text = "Nothing was changed: Temporal does not answer."
	case errors.Is(err, client.ErrNoWorker):
		text = "Nothing was changed: " + p.o.NoWorker + "."
	case err != nil:
		text = "Not done: " + indentedText(err.Error()) + "."
	}
	if text != "" {
		p.said = ""
		p.tell(text)
	}
	return nil
}

func (p *plainChat) answer(ctx context.Context, c command) (string, error) {
	agents, id := p.o.Agents, p.o.ID
	if c.name == "/help" {
		return commandsText, nil
	}
	if c.name == "/model" && c.rest != "" {
		if !p.result.Started {
			return p.choice.choose(c.rest, id, nil, p.o.Start)
		}
		snap, err := agents.ShowRecorded(ctx, id)
		if err != nil {
			return "", err
		}
		return p.choice.choose(c.rest, id, snap.ModelChoices, nil)
	}
	if err := c.check(p.result.Started); err != nil {
		return "", err
	}
	switch c.name {
	case "/model":
		snap, err := agents.ShowRecorded(ctx, id)
		return p.choice.text(id, snap), err
	case "/cost":
		return cost(ctx, agents, id)
	case "/approve", "/deny":
		return p.decide(ctx, c)
	case "/aside":
		text, err := aside(ctx, agents, id, c.rest)
		if err == nil {
			fmt.Fprintln(p.out, "(aside) "+printable.Text(text))
		}
		return "", err
	case "/permissions":
		return permissions(ctx, agents, id)
	case "/revoke":
		return revoke(ctx, agents, id, strings.Fields(c.rest))
	case "/interrupt":
		return interruptedText, interrupt(ctx, agents, id)
	}
	return p.fork(ctx, c)
}

func (p *plainChat) decide(ctx context.Context, c command) (string, error) {
	waits, err := p.o.Agents.Pending(ctx, p.o.ID)
	if err != nil {
		return "", err
	}
	all, err := verdictsOf(c, waits)
	if err != nil {
		return "", err
	}
	var done []string
	for _, v := range all {
		if err := v.deliver(ctx, p.o.Agents); err != nil {
			return "", err
		}
		done = append(done, v.done())
	}
	return strings.Join(done, "\n"), nil
}

func (p *plainChat) fork(ctx context.Context, c command) (string, error) {
	at, err := c.forkPoint()
	if err != nil {
		return "", err
	}
	from := p.o.ID
	started, err := p.o.Agents.Fork(ctx, from, client.ForkOptions{At: at, Mode: agent.Chat})
	if err != nil {
		return "", err
	}
	p.o.ID, p.result.ID, p.next = started.ID, started.ID, 0
	return forkText(started.ID, from), p.skip(ctx)
}
