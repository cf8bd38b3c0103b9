package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

func TestPermissionsAreListedAndRevoked(t *testing.T) {
	s := newStage(t, true)
	s.keys("/permissions", "enter")
	s.shows("The agent has no permissions")
	s.permissions = []agent.Permission{{Key: "k-00000001", Tool: "pay", Actor: agent.Actor{By: "kim"}}, {Key: "k-00000002", Tool: "post\n> x", Arguments: `{"a":1}`, Actor: agent.Actor{By: "kim"}}}
	s.keys("/permissions", "enter")
	s.shows("The agent has these permissions:\n  00000001 pay with any arguments, by kim\n  00000002 post > x {\"a\":1}, by kim")
	s.keys("/revoke 00000003", "enter")
	s.shows("Nothing was changed:\n  the agent has no permission 00000003; /permissions lists them")
	require.Empty(t, s.asked)
	s.keys("/revoke 00000002", "enter")
	require.Equal(t, []string{"revoke talk k-00000002"}, s.asked)
	s.keys("/revoke", "enter")
	require.Len(t, s.asked, 3)
	s.shows("Revoked 00000001 pay.\n  Revoked 00000002 post")
}
