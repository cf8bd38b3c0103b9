package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
)

// A list of IDs fits into a payload beside a page of messages, names each message once, and lacks the last ones only.
func TestOrderOfMessagesIsBounded(t *testing.T) {
	var messages []agent.Incoming
	for i := range 20_000 {
		m := agent.Incoming{ID: fmt.Sprintf("%036d", i)}
		messages = append(messages, m, m)
	}
	order := ids(messages)
	require.LessOrEqual(t, payload.Size(order), maxOrderBytes+2)
	require.Greater(t, payload.Size(order), maxOrderBytes*9/10)
	for i, id := range order {
		require.Equal(t, fmt.Sprintf("%036d", i), id)
	}
}
