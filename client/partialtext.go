package client

import (
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// PartialText is the part of a reply that the model has written so far, while the model call is still running. The worker
// reports the text about once a second. A program that runs the worker can get every chunk as soon as it arrives: see
// `reagent.Streamer`.
type PartialText struct {
	// Key identifies the model call. The message that comes from this call has the same key in the transcript.
	Key agent.Key
	// Text is the end of the partial text. It has at most about 2,000 bytes.
	Text string
	// Said is the number of bytes of the whole partial text.
	Said int
	// Attempt is the number of the attempt at the call, counted from 1. When the number grows, discard the text of the earlier
	// attempt.
	Attempt int
}

// ToolOutput is what a tool has reported so far, while its call is still running: see `tool.Info.Progress`. The built-in tool shell
// reports the output of its command, and an MCP server may report progress. The worker passes new output on about once a second.
type ToolOutput struct {
	// Key identifies the call. The message with the result of the call has the same key in the transcript.
	Key agent.Key
	// CallID is the ID that the model gave to the call.
	CallID string
	// Name is the name of the tool.
	Name string
	// Text is the end of the output. It has at most about 2,000 bytes. It may contain control characters from the tool.
	Text string
	// Said is the number of bytes of the whole output so far.
	Said int
	// Attempt is the number of the attempt at the call, counted from 1. When the number grows, discard the output of the earlier
	// attempt.
	Attempt int
}

// partialText returns the partial text of the running model call; nil if there is none. `pending` has the agent's activities that
// have not ended.
func (c *Client) partialText(pending []*workflowpb.PendingActivityInfo) *PartialText {
	for _, p := range pending {
		if p.GetActivityType().GetName() != protocol.CallModel || !reports(p) {
			continue
		}
		if said, ok := c.said(p); ok { // the call that answers a question aside reports no text
			return &PartialText{Key: agent.Key(p.GetActivityId()), Text: said.Text, Said: said.Said, Attempt: said.Tried}
		}
	}
	return nil
}

// maxOutputs is the largest number of tool outputs in a [Progress]. It is small, because a codec server may have to decode each output.
const maxOutputs = 10

// toolOutputs returns the output of the running tools. `pending` has the agent's activities that have not ended, and `calls` the
// agent's calls, in the order of the result.
func (c *Client) toolOutputs(pending []*workflowpb.PendingActivityInfo, calls []agent.Call) []ToolOutput {
	var outputs []ToolOutput
	for _, call := range calls {
		i := slices.IndexFunc(pending, func(p *workflowpb.PendingActivityInfo) bool { return p.GetActivityId() == string(call.Key) })
		if i < 0 || pending[i].GetActivityType().GetName() != protocol.CallTool || !reports(pending[i]) {
			continue
		}
		if said, ok := c.said(pending[i]); ok {
			outputs = append(outputs, ToolOutput{Key: call.Key, CallID: call.CallID, Name: call.Name, Text: said.Text, Said: said.Said, Attempt: said.Tried})
		}
		if len(outputs) == maxOutputs {
			break
		}
	}
	return outputs
}

// reports says whether an attempt at an activity is running and has sent a heartbeat.
func reports(p *workflowpb.PendingActivityInfo) bool {
	return p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED && p.GetHeartbeatDetails() != nil
}

// said returns the last heartbeat of an activity. It returns false if the heartbeat has no text of the current attempt.
func (c *Client) said(p *workflowpb.PendingActivityInfo) (said protocol.Progress, ok bool) {
	// Heartbeat details that cannot be decoded come from a worker of another version. They are ignored.
	err := c.converter.FromPayloads(p.GetHeartbeatDetails(), &said)
	return said, err == nil && said.Text != "" && said.Attempt == p.GetAttempt()
}
