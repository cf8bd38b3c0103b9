package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

func TestNewcomerIsToldWhereAnAgentCanBeForked(t *testing.T) {
	for want, e := range map[string]agent.ForkPointError{
		"the agent cannot be forked after message 3: a tool call up to this message has its result in a later message, or has none yet; fork it after message 1 or 5": {At: 3, Count: 8, Before: 1, After: 5},
		"the agent cannot be forked after message 9: the agent has 8 messages; fork it after message 8":                                                               {At: 9, Count: 8, Before: 8, After: -1},
		"the agent cannot be forked after message -1: the first message has number 1; fork it after message 1":                                                        {At: -1, Count: 8, Before: -1, After: 1},
		"the agent cannot be forked after message 2: the first 4 messages were summarised; fork it after message 5":                                                   {At: 2, Count: 8, Before: -1, After: 5, Dropped: 4},
	} {
		require.EqualError(t, &e, want)
	}
}
