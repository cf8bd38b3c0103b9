package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// History omits the parts of a reply that follow from the request and the message.
func TestBareReplyTellsTheSame(t *testing.T) {
	say, call := llmtest.Say("hello"), llmtest.Call(llmtest.ToolCall("c", "read", "{}"))
	for _, c := range []struct {
		reply             llm.Reply
		candidate, reason string
		keepsCandidate    bool
		keepsReason       bool
	}{
		{reply: say, candidate: "main", reason: "stop"},
		{reply: call, candidate: "main", reason: "tool_calls"},
		{reply: say, candidate: "other", reason: "length", keepsCandidate: true, keepsReason: true},
		{reply: say, candidate: "main", reason: "tool_calls", keepsReason: true},
		{reply: call, candidate: "main", reason: "stop", keepsReason: true},
	} {
		c.reply.Candidate, c.reply.FinishReason = c.candidate, c.reason
		bare := protocol.OmitDefaults(c.reply, llm.Candidate{Name: "main"})
		require.Empty(t, bare.Message.Role)
		require.Equal(t, c.reply.Message.Content, bare.Message.Content)
		require.Equal(t, c.reply.Message.ToolCalls, bare.Message.ToolCalls)
		require.Equal(t, c.keepsCandidate, bare.Candidate == c.candidate)
		require.Equal(t, c.keepsReason, bare.FinishReason == c.reason)
		require.Equal(t, llm.Assistant, c.reply.Message.Role, "the reply itself stays as it is")
	}
}

// If a worker refuses an attempt because the time limit of the turn seems to be over, an earlier attempt may have run the tool.
func TestRefusedAttemptLeavesTheOutcomeUnknown(t *testing.T) {
	err := temporal.NewNonRetryableApplicationError("the time limit was over", protocol.OutOfTime, nil)
	e, ok := protocol.ToolEvent("tool-1", "pay", protocol.ToolResult{}, err, 0, 7).(agent.ToolFinished)
	require.True(t, ok)
	require.Equal(t, agent.ToolLost(7), e.Result)
}
