package settle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// A person who names a wrong call is told which command to use.
func TestWrongCallNamesTheNextCommand(t *testing.T) {
	for want, missing := range map[string]client.NoCallError{
		`the call "1" of agent "a" waits for a result from outside, not for an answer: use ` + "`starter complete`":       {Call: "1", For: "an answer", WaitsFor: client.WaitsForResult},
		`the call "1" of agent "a" waits for an answer, not for a decision: use ` + "`starter answer`":                    {Call: "1", For: "a decision", WaitsFor: client.WaitsForAnswer},
		`the call "1" of agent "a" waits for a decision, not for an answer: use ` + "`starter approve` or `starter deny`": {Call: "1", For: "an answer", WaitsFor: client.WaitsForApproval},
		`no call "1" of agent "a" or of its sub-agents waits for a decision: see ` + "`starter inbox`":                    {Call: "1", For: "a decision"},
		`no call of agent "a" or of its sub-agents waits for a decision`:                                                  {For: "a decision"},
	} {
		missing.ID = "a"
		err := refused(&missing)
		require.EqualError(t, err, want)
		require.Equal(t, exit.WrongState, exit.CodeOf(err))
	}
}
