package client

import (
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// PartialText is the part of a reply that the model has written so far, while the model call is still running. The worker
// reports it about once a second. A program that runs the worker can get every chunk as soon as it arrives: see the Streamer
// of package activities.
type PartialText struct {
	// Key is the key of the model call. The assistant message that the call adds to the transcript has the same key.
	Key agent.Key
	// Text is the end of the partial text, at most about 2,000 bytes. Said is the number of bytes of the whole partial text.
	Text string
	Said int
	// Attempt is the number of the attempt, counted from 1. If it is higher than before, the text of the earlier attempt is
	// discarded.
	Attempt int
}

// partialText returns the partial text of the running model call; nil if there is none. It reads the heartbeats of the
// agent's activities that have not ended (pending).
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
