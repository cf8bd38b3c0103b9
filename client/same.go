package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/reagent-dev/reagent/agent"
)

// Same reports whether the agent with the ID in the options was started with the same definition, mode, message, images, output
// schema, metadata and overrides. Call Same if [Client.Start] has found an agent with this ID. Same reads the agent's history and needs no worker. It
// returns false for a fork, and if Temporal has deleted the history with the first message.
func (c *Client) Same(ctx context.Context, o StartOptions) (bool, error) {
	_, run, err := c.newest(ctx, o.ID)
	if err != nil {
		return false, err
	}
	if run.Start.Agent != o.Agent || cmp.Or(run.Start.Mode, agent.Task) != cmp.Or(o.Mode, agent.Task) || !sameJSON(run.Start.OutputSchema, o.OutputSchema) ||
		!maps.Equal(run.Start.Metadata, o.Metadata) || !run.Start.Overrides.Equal(o.Overrides) {
		return false, nil
	}
	if len(run.Start.Next) > 0 {
		return false, nil // a rerun of a chat
	}
	// The input of a run that continues an earlier run does not have the first message. The transcript has it, or that of an earlier run.
	for run.Start.Continues() {
		if from := run.Start.From; from != nil && from.Fork {
			return false, nil
		}
		if s := run.State; s != nil && s.Dropped == 0 && len(s.Messages) > 0 {
			var images []string
			for _, part := range s.Messages[0].Parts {
				images = append(images, part.URL)
			}
			return s.Messages[0].Content == o.Message && slices.Equal(images, o.Images) && maps.Equal(s.Messages[0].Metadata, o.MessageMetadata) &&
				s.Messages[0].Overrides.Equal(o.MessageOverrides), nil
		}
		if run, err = c.previous(ctx, o.ID, run); err != nil {
			if errors.Is(err, ErrNotFound) {
				err = nil
			}
			return false, err
		}
	}
	var first agent.QueuedMessage
	if run.Start.Message != nil {
		first = *run.Start.Message
	}
	return first.Text == o.Message && slices.Equal(first.Images, o.Images) && maps.Equal(first.Metadata, o.MessageMetadata) && first.Overrides.Equal(o.MessageOverrides), nil
}

// sameJSON reports whether two JSON texts differ in white space only.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes()) || bytes.Equal(a, b)
}
