package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
)

// The list of IDs and times is small enough for one payload together with a page of messages. It has each ID once, and lacks only
// the newest IDs.
func TestOrderOfMessagesIsBounded(t *testing.T) {
	var messages []agent.InboxMessage
	for i := range 20_000 {
		m := agent.InboxMessage{ID: fmt.Sprintf("%036d", i), Time: 1_700_000_000_000 + int64(i)}
		messages = append(messages, m, m)
	}
	order, times := inOrder(messages)
	size := payload.Size(order) + payload.Size(times)
	require.LessOrEqual(t, size, maxOrderBytes+4)
	require.Greater(t, size, maxOrderBytes*9/10)
	require.Len(t, times, len(order))
	for i, id := range order {
		require.Equal(t, fmt.Sprintf("%036d", i), id)
	}
}

// Messages are ordered by the time at which a run first took them. Messages of deleted runs, with unknown times, come first.
func TestMessagesStandInTheOrderOfTheirTimes(t *testing.T) {
	order, times := inOrder([]agent.InboxMessage{
		{ID: "late", Time: 3}, {ID: "redelivered"}, {ID: "gone"}, {ID: "early", Time: 1}, {ID: "late", Time: 4}, {ID: "redelivered", Time: 2},
	})
	require.Equal(t, []string{"gone", "early", "redelivered", "late"}, order)
	require.Equal(t, []int64{0, 1, 2, 3}, times)
}
