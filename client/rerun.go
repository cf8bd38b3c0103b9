package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/workflows"
)

// RerunOptions are the options of [Client.Rerun]. The zero value gives a new agent all the input of the other one, and changes nothing.
type RerunOptions struct {
	// At is the number of messages that the new agent keeps as they are, counted from the beginning of the transcript. Zero keeps none.
	At int
	// ID is the ID of the new agent. Empty means a new ID: the name of the definition, a hyphen and 8 random hexadecimal digits.
	ID string
	// Overrides are added to those of the other agent: see [agent.Overrides.With].
	Overrides agent.Overrides
	// PartialText asks for the text of the replies while they grow: see [StartOptions].
	PartialText bool
}

// Rerun is the result of [Client.Rerun].
type Rerun struct {
	Started
	// Messages is the number of messages of the user that the new agent gets.
	Messages int
	// Decided is the number of calls on which people had decided, or to which they had given the result. The new agent does not get these
	// decisions: its calls wait for new ones.
	Decided int
	// Left is the number of later messages to an agent in task mode, which are not part of its input.
	Left int
}

// ErrNothingToRerun says that an agent has no input that a new agent could get, or none after the messages that are to be kept.
var ErrNothingToRerun = errors.New("there is no input to run again")

// Rerun starts a new agent with the input of another one, which may be running or have ended and does not change. The new agent reads its
// definition anew, so it has what has changed in the configuration since. Rerun reads histories and needs no worker.
//
//   - The input of a task is its first message, with its images and metadata. The input of a chat is all its messages from users, in their
//     order, with their overrides. The new agent takes each when it has answered the one before. The output schema, the metadata and the mode are the same, too.
//   - With the option `At`, the new agent is a fork with the first messages. It then gets the later messages of users, also in task mode.
//   - Decisions of people, answers to questions and permissions are not part of the input.
//
// If an agent with the ID of the new one exists, Rerun starts nothing and sets `Found` in the result. The error wraps [ErrNothingToRerun],
// [agent.ErrMessage] if the messages are too large for one start, an [*agent.ForkPointError] if the messages cannot be kept, and
// [ErrNotFound] if there is no such agent, or Temporal has deleted a history with messages that are needed.
func (c *Client) Rerun(ctx context.Context, id string, o RerunOptions) (Rerun, error) {
	found, run, err := c.newest(ctx, id)
	if err != nil {
		return Rerun{}, err
	}
	if run.State == nil && run.Start.Continues() {
		return Rerun{}, fmt.Errorf("rerun agent %q: %w: the agent has not read its earlier messages yet; try again later", id, ErrNothingToRerun)
	}
	if run.State == nil {
		run.State = agent.New(id, run.Start, 0) // no worker has taken the agent yet
	}
	s := run.State
	in := agent.Start{
		Agent: s.Agent, Mode: s.Mode, KeyVersion: agent.KeyVersion, Incarnation: uuid.NewString(), OutputSchema: s.OutputSchema,
		Metadata: s.Metadata, Searchable: run.Start.Searchable, Overrides: s.Overrides.With(o.Overrides), NoUIContent: run.Start.NoUIContent,
	}
	if o.At != 0 {
		_, from, err := c.forkPoint(ctx, agent.RunRef{ID: id, RunID: found.runID}, run, o.At)
		if err != nil {
			return Rerun{}, fmt.Errorf("rerun agent %q: %w", id, err)
		}
		from.Reload, in.From = true, &from
	}
	later, err := c.later(ctx, id, run, max(0, o.At-1)) // with the last message that is kept
	if err != nil {
		return Rerun{}, fmt.Errorf("rerun agent %q: %w", id, err)
	}
	answered := o.At != 0 && later[0].Role == llm.Assistant
	if o.At != 0 {
		later = later[1:]
	}
	again, messages := Rerun{Decided: decided(later)}, asked(later, s.Queue)
	switch {
	case len(messages) == 0 && o.At == 0:
		return Rerun{}, fmt.Errorf("rerun agent %q: %w: the agent has got no message yet; send it one, or start a new agent", id, ErrNothingToRerun)
	case len(messages) == 0 && answered:
		return Rerun{}, fmt.Errorf("rerun agent %q: %w: no message of a user comes after message %d; keep fewer messages", id, ErrNothingToRerun, o.At)
	case s.Mode == agent.Task && o.At == 0:
		again.Left, messages = len(messages)-1, messages[:1]
	}
	if in.Message, in.Next, err = startingWith(ctx, messages, o.PartialText); err != nil {
		return Rerun{}, fmt.Errorf("rerun agent %q: %w", id, err)
	}
	if err := in.CheckWishes(); err != nil {
		return Rerun{}, fmt.Errorf("rerun agent %q: %w", id, invalid(err))
	}
	again.Messages = len(messages)
	newID := cmp.Or(o.ID, in.Agent+"-"+uuid.NewString()[:8])
	if err := CheckID(newID); err != nil {
		return Rerun{}, err
	}
	task := cmp.Or(found.task, taskOf(run))
	if len(messages) > 0 && o.At == 0 {
		task = workflows.TaskText(messages[0].Text)
	}
	again.Started, err = c.start(ctx, newID, in, task, found.priority, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
	return again, err
}

// later returns the messages of an agent from the index `from` on. The newest run of the agent is `run`, which must have a state.
func (c *Client) later(ctx context.Context, id string, run *history.Run, from int) ([]agent.Message, error) {
	if from >= run.State.Dropped {
		return run.State.Messages[from-run.State.Dropped:], nil
	}
	earlier, err := c.Earlier(ctx, id, run.State.Dropped)
	if err != nil {
		return nil, err
	}
	return append(earlier[from:], run.State.Messages...), nil
}

// asked returns the messages of users in a transcript, and those that wait in the queue.
func asked(transcript []agent.Message, queue []agent.QueuedMessage) []agent.QueuedMessage {
	var all []agent.QueuedMessage
	for _, m := range transcript {
		if m.Role != llm.User || m.Notice || m.Key == "" || m.Key.Kind() == agent.KindLate {
			continue
		}
		message := agent.QueuedMessage{Text: m.Content, Metadata: m.Metadata, Overrides: m.Overrides}
		for _, part := range m.Parts {
			message.Images = append(message.Images, part.URL)
		}
		all = append(all, message)
	}
	for _, m := range queue {
		if m.Late == nil {
			all = append(all, agent.QueuedMessage{Text: m.Text, Images: m.Images, Metadata: m.Metadata, Overrides: m.Overrides})
		}
	}
	return all
}

// decided returns the number of results in a transcript on whose calls people have decided.
func decided(transcript []agent.Message) int {
	return len(slices.DeleteFunc(slices.Clone(transcript), func(m agent.Message) bool { return m.Decider == nil || m.Decider.Remembered }))
}

// startingWith returns the messages for the fields Message and Next of a start, with new IDs. They must fit into one payload.
func startingWith(ctx context.Context, messages []agent.QueuedMessage, partialText bool) (first *agent.QueuedMessage, next []agent.QueuedMessage, err error) {
	size := 0
	for i, m := range messages {
		m.PartialText = partialText
		made, err := newMessage(m)
		if err != nil {
			return nil, nil, err
		}
		signedBy(ctx, made)
		size += made.EncodedBytes()
		if i == 0 {
			first = made
		} else {
			next = append(next, *made)
		}
	}
	if len(messages) > agent.MaxQueue || size > agent.MaxEncodedBytes {
		return nil, nil, fmt.Errorf("%w: a new agent can begin with %d messages of %.1f MB together, and these are %d of %.1f MB; keep the first messages of the agent as they are",
			agent.ErrMessage, agent.MaxQueue, float64(agent.MaxEncodedBytes)/1e6, len(messages), float64(size)/1e6)
	}
	return first, next, nil
}
