package calls_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// An interrupt and a message may come at once. Whichever is first, each program that waits for the agent sees it come to rest: with the
// answer, or held, if the message came first and waits for the next one.
func TestInterruptAndMessageAtOnceComeToRest(t *testing.T) {
	t.Parallel()
	const agents = 40
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Content == "wait" {
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}
		return llmtest.Say("done"), nil
	}, nil, "")
	w.Worker()
	var all sync.WaitGroup
	problems := make([]error, agents)
	for i := range agents {
		all.Go(func() { problems[i] = interruptAndSend(t.Context(), w.Client, fmt.Sprint(t.Name(), i), i%4) })
	}
	all.Wait()
	for i, err := range problems {
		require.NoError(t, err, "agent %d", i)
	}
}

// interruptAndSend starts an agent, and interrupts it and sends it a message. `order` says which comes first: 0 the message, 1 the interrupt;
// otherwise both at once.
func interruptAndSend(ctx context.Context, c *client.Client, id string, order int) error {
	ctx, cancel := context.WithTimeout(ctx, world.Patience/2)
	defer cancel()
	if _, err := c.Start(ctx, client.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: "wait"}); err != nil {
		return err
	}
	for p, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			return err
		}
		if p.Message != nil {
			break
		}
	}
	interrupt := func() error { return c.Interrupt(ctx, id) }
	send := func() error {
		_, err := c.Send(ctx, id, client.Message{ID: "m", Text: "go on"})
		return err
	}
	var err error
	switch order {
	case 0:
		err = errors.Join(send(), interrupt())
	case 1:
		err = errors.Join(interrupt(), send())
	default:
		failed := make(chan error)
		go func() { failed <- send() }()
		err = errors.Join(interrupt(), <-failed)
	}
	if err != nil {
		return err
	}
	end, err := c.Reply(ctx, id, "m", 0, nil)
	switch {
	case err != nil:
		snap, read := c.ShowRecorded(context.WithoutCancel(ctx), id)
		return fmt.Errorf("order %d: %w: the agent is %s, waits for %q, inbox %d (%w)", order, err, snap.Status, snap.WaitsFor, len(snap.Queue), read)
	case end.Status == client.Held && order != 1:
		if end, err = lift(ctx, c, id); err != nil {
			return err
		}
	}
	if end.Status != client.Waiting || end.Answer != "done" {
		return fmt.Errorf("order %d: %s with the answer %q", order, end.Status, end.Answer)
	}
	if order == 1 {
		return interruptedBefore(ctx, c, id, "m")
	}
	return nil
}

// interruptedBefore checks that a snapshot has the time of the only interrupt, which is not later than that of the message with which the turn
// went on.
func interruptedBefore(ctx context.Context, c *client.Client, id, message string) error {
	snap, err := c.ShowRecorded(ctx, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(snap.Messages, func(m agent.Message) bool { return string(m.Key) == message })
	if at < 0 || len(snap.Interrupts) != 1 || snap.Interrupts[0].UnixMilli() > snap.Messages[at].Time {
		return fmt.Errorf("the interrupts %v do not stand before the message %d of %v", snap.Interrupts, at, snap.Messages)
	}
	return nil
}

// lift lets an interrupted turn go on, and waits for the answer to the message that waited.
func lift(ctx context.Context, c *client.Client, id string) (client.Snapshot, error) {
	if _, err := c.Send(ctx, id, client.Message{ID: "lift", Text: "please"}); err != nil {
		return client.Snapshot{}, err
	}
	return c.Reply(ctx, id, "m", 0, nil)
}
