package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// A person who answers a question never gives an external call its result, and the other way round. A name that fits no such call is
// told apart: the call waits for something else, was decided before, or does not exist.
func TestCallIsChosenByItsKind(t *testing.T) {
	question := Waits{AgentID: "a", Call: agent.Call{Key: "tool-11111111", Name: agent.AskUser, Wait: agent.CallWait{For: agent.WaitsForAnswer}}}
	deploy := Waits{AgentID: "a", Call: agent.Call{Key: "tool-22222222", Name: "deploy", Wait: agent.CallWait{For: agent.WaitsForResult}}}
	pay := Waits{AgentID: "a", Call: agent.Call{Key: "tool-33333333", Name: "pay", Wait: agent.CallWait{For: agent.WaitsForApproval}}}
	all := outside{status: Running, waiting: []Waits{question, deploy, pay}, decided: []agent.Key{"tool-44444444"}}
	approval, answer, result := []WaitsFor{WaitsForApproval}, []WaitsFor{WaitsForAnswer}, []WaitsFor{WaitsForResult}
	for want, kinds := range map[*Waits][]WaitsFor{&question: answer, &deploy: result, &pay: approval} {
		for _, name := range []string{"", string(want.Call.Key), want.Handle()} {
			got, err := all.choose("a", name, kinds)
			require.NoError(t, err)
			require.Equal(t, *want, got)
		}
	}
	for _, c := range []struct {
		name  string
		kinds []WaitsFor
		want  string
	}{
		{deploy.Handle(), answer, `the call "22222222" of agent "a" waits for a result from outside, not for an answer`},
		{question.Handle(), result, `the call "11111111" of agent "a" waits for an answer, not for a result from outside`},
		{question.Handle(), approval, `the call "11111111" of agent "a" waits for an answer, not for a decision`},
		{"44444444", approval, `the call "44444444" of agent "a" was decided before, and does not wait for a decision`},
		{"nothing", answer, `no question "nothing" of agent "a" or of its sub-agents waits for an answer`},
		{"nothing", approval, `no call "nothing" of agent "a" or of its sub-agents waits for a decision`},
		{"", append(result, answer...), `2 calls of agent "a" wait: 11111111 (ask_user), 22222222 (deploy); name one of them`},
	} {
		_, err := all.choose("a", c.name, c.kinds)
		require.EqualError(t, err, c.want)
	}
	_, err := outside{status: Running, waiting: []Waits{deploy}}.choose("a", "", answer)
	require.EqualError(t, err, `no question of agent "a" or of its sub-agents waits for an answer`)
	_, err = outside{status: Running, waiting: []Waits{question, question}}.choose("a", "", answer)
	require.EqualError(t, err, `2 questions of agent "a" wait: 11111111 (ask_user), 11111111 (ask_user); name one of them`)
}

// A person who decides on a call of an agent that has ended is told that it has ended. A sub-agent below it may still wait.
func TestDecisionForAnEndedAgentSaysThatItHasEnded(t *testing.T) {
	deploy := Waits{AgentID: "b", Call: agent.Call{Key: "tool-22222222", Name: "deploy", Wait: agent.CallWait{For: agent.WaitsForResult}}}
	for _, name := range []string{"", "nothing"} {
		_, err := outside{status: Terminated}.choose("a", name, []WaitsFor{WaitsForApproval})
		require.Equal(t, &ClosedError{Operation: "decide", ID: "a", Status: Terminated}, err)
	}
	got, err := outside{status: Terminated, waiting: []Waits{deploy}}.choose("a", "", []WaitsFor{WaitsForResult})
	require.NoError(t, err)
	require.Equal(t, deploy, got)
}
