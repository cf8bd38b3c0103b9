package client

import (
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// PartialText is the part of a reply that the model has written so far, while the model call is still running. The worker
// reports the text about once a second. A program that runs the worker can get every chunk as soon as it arrives: see
// `activities.Streamer`.
type PartialText struct {
	// Key identifies the model call. The message that comes from this call has the same key in the transcript.
	Key agent.Key
	// Text is the end of the partial text. It has at most about 2,000 bytes.
	Text string
	// Said is the number of bytes of the whole partial text.
	Said int
	// Attempt is the number of the attempt at the call, counted from 1. If the number has grown, discard the text of the
	// earlier attempt.
	Attempt int
}

// partialText returns the partial text of the running model call; nil if there is none. It reads the heartbeat of the
// activity that makes the call. `pending` has the agent's activities that have not ended.
func (c *Client) partialText(pending []*workflowpb.PendingActivityInfo) *PartialText {
	for _, p := range pending {
		if p.GetActivityType().GetName() != protocol.CallModel || p.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED ||
			p.GetHeartbeatDetails() == nil {
			continue
		}
		var said protocol.Progress
		// Heartbeat details that cannot be decoded come from a worker of another version. They are ignored.
		if c.converter.FromPayloads(p.GetHeartbeatDetails(), &said) != nil || said.Text == "" || said.Attempt != p.GetAttempt() {
			return nil
		}
		return &PartialText{Key: agent.Key(p.GetActivityId()), Text: said.Text, Said: said.Said, Attempt: said.Tried}
	}
	return nil
}
