package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A program that starts an agent by hand may leave out the version of the keys. It means the current one. In JSON that no program of this
// module has encoded, it means version 1 for ever, also in the next run of the agent.
func TestStartWithoutAVersionHasTheCurrentOne(t *testing.T) {
	byHand := agent.Start{Agent: "x", Message: &agent.QueuedMessage{ID: "1", Text: "hello"}}
	require.Equal(t, agent.KeyVersion, agent.New("a", byHand, 0).KeyVersion)
	sent, err := json.Marshal(byHand)
	require.NoError(t, err)
	var arrived, old agent.Start
	require.NoError(t, json.Unmarshal(sent, &arrived))
	require.Equal(t, agent.KeyVersion, arrived.Identity("a").KeyVersion)

	require.NoError(t, json.Unmarshal([]byte(`{"agent":"x"}`), &old))
	require.Equal(t, 1, old.Identity("a").KeyVersion)
	again, err := json.Marshal(&old)
	require.NoError(t, err)
	require.JSONEq(t, `{"agent":"x","key_version":1}`, string(again))
}
