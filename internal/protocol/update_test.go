package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// A sender cannot prove by itself who it is.
func TestProofOfASenderIsIgnored(t *testing.T) {
	claimed, stated := agent.Actor{By: "ann", From: "laptop", ProvedBy: "me"}, agent.Actor{By: "ann", From: "laptop"}
	require.Equal(t, stated, protocol.Decide.Event(agent.Decision{Actor: claimed}, 1).(agent.Decided).Decision.Actor)
	require.Equal(t, stated, protocol.Interrupt.Event(agent.Interrupt{Actor: claimed}, 1).(agent.Stopped).Actor)
}
