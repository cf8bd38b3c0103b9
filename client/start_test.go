package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A program that does not know whether a start has arrived sends the message with the same ID. So the start must use its ID.
func TestStartUsesTheIDOfTheMessage(t *testing.T) {
	for _, mode := range []agent.Mode{agent.Task, agent.Chat} {
		in, err := StartOptions{ID: "a", Agent: "x", Mode: mode, Message: "hello", MessageID: "m-1"}.start()
		require.NoError(t, err)
		require.Equal(t, "m-1", in.Message.ID)
		in, err = StartOptions{ID: "a", Agent: "x", Mode: mode, Message: "hello"}.start()
		require.NoError(t, err)
		require.NotEmpty(t, in.Message.ID)
		_, err = StartOptions{ID: "a", Agent: "x", Mode: mode, Message: "hello", MessageID: "two words"}.start()
		require.ErrorIs(t, err, agent.ErrMessage)
	}
}
