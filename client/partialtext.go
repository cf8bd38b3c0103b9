package client

import (
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// PartialText are the text of a running model call so far. They come about once a second; a
// program that runs the worker itself has every piece at once, see [activities.Streamer].
type PartialText struct {
	// Key is that of the model call; the assistant's message in the transcript has it too.
	Key agent.Key
	// Text is the end of the words, at most some 2,000 bytes, and Said the number of bytes of all of them.
	Text string
	Said int
	// Attempt counts from 1. What came with an earlier one is void.
	Attempt int
}

// partialText returns those of the model call that runs, or nil where none has said anything.
func (c *Client) partialText(pending []*workflowpb.PendingActivityInfo) *PartialText {
	for _, p := range pending {
		if p.GetActivityType().GetName() != protocol.CallModel || p.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED ||
			p.GetHeartbeatDetails() == nil {
			continue
		}
		var said activities.Progress
		// Words that cannot be read are those of another version: nobody needs them.
		if c.converter.FromPayloads(p.GetHeartbeatDetails(), &said) != nil || said.Text == "" || said.Attempt != p.GetAttempt() {
			return nil
		}
		return &PartialText{Key: agent.Key(p.GetActivityId()), Text: said.Text, Said: said.Said, Attempt: said.Tried}
	}
	return nil
}
