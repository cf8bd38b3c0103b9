package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// converse starts an agent and sends it the messages of a scenario, each after the answer to the message before. Then it waits
// until the agent has completed. If the agent, its workers or the server are disturbed meanwhile, converse tries again until ctx
// ends. If the scenario has people, those in the parameter p settle the calls of the agent.
func converse(ctx context.Context, c *reagent.Client, id string, s Scenario, p *people) error {
	start := reagent.StartOptions{ID: id, Agent: s.agent(), Mode: agent.Task, Message: s.messages[0]}
	if s.chat() {
		start.Mode = agent.Chat
	}
	err := until(ctx, "it is started", func(ctx context.Context) (bool, error) {
		_, err := c.Start(ctx, start)
		return err == nil, err
	})
	for i, text := range s.messages[1:] {
		err = errors.Join(err, answered(ctx, c, id, s.messages[i]))
		message := reagent.Message{ID: fmt.Sprint("message-", i+1), Text: text}
		// Twice, like a sender who does not know that the first message arrived.
		for range 2 {
			err = errors.Join(err, until(ctx, "it has "+message.ID, func(ctx context.Context) (bool, error) {
				_, err := c.Send(ctx, id, message)
				return err == nil, err
			}))
		}
	}
	if s.chat() {
		err = errors.Join(err, answered(ctx, c, id, s.messages[len(s.messages)-1]), closed(ctx, c, id))
	}
	if s.people {
		err = errors.Join(err, p.settle(ctx, c, id))
	}
	if err := errors.Join(err, completed(ctx, c, id)); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	return nil
}

// answered waits until the transcript of an agent has the user message with the given text and ends with an answer.
func answered(ctx context.Context, c *reagent.Client, id, text string) error {
	return until(ctx, fmt.Sprintf("%q is answered", text), func(ctx context.Context) (bool, error) {
		snap, err := c.ShowRecorded(ctx, id)
		if err != nil || len(snap.Messages) == 0 {
			return false, err
		}
		taken := slices.ContainsFunc(snap.Messages, func(m agent.Message) bool { return m.Role == llm.User && m.Content == text })
		last := snap.Messages[len(snap.Messages)-1]
		return taken && last.Role == llm.Assistant && len(last.ToolCalls) == 0, nil
	})
}

// closed closes a chat and waits until it has completed. It repeats the close until then, because the agent may be terminated
// and resumed before it completes.
func closed(ctx context.Context, c *reagent.Client, id string) error {
	return until(ctx, "it is closed", func(ctx context.Context) (bool, error) {
		if err := c.Close(ctx, id); err != nil && !errors.Is(err, reagent.ErrClosed) {
			return false, err
		}
		snap, err := c.ShowRecorded(ctx, id)
		return snap.Status == reagent.Completed, err
	})
}

// completed waits until an agent has completed. If the agent has failed, completed returns an error. An agent that failed because a
// person interrupted it while it was closing does not count: someone resumes it.
func completed(ctx context.Context, c *reagent.Client, id string) error {
	var failed error
	err := until(ctx, "it completes", func(ctx context.Context) (bool, error) {
		snap, err := c.ShowRecorded(ctx, id)
		if snap.Status == reagent.Failed && snap.Class != agent.Interrupted {
			failed = fmt.Errorf("it failed: %s", snap.Failure)
		}
		return snap.Status == reagent.Completed || failed != nil, err
	})
	return errors.Join(err, failed)
}

// until calls the function ok again and again until it returns true. If ctx ends before that, until returns an error with the
// name of the condition, which is the parameter what. The context of each call of ok ends after 20 seconds, because the call may
// wait for a process that is dead.
func until(ctx context.Context, what string, ok func(context.Context) (bool, error)) error {
	var last error
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 20*time.Second)
		done, err := ok(attempt)
		cancel()
		if done {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("until %s: %w", what, errors.Join(context.Cause(ctx), last))
}
