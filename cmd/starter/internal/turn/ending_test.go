package turn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/llm"
)

// A turn that a limit ended has an exit code of its own for scripts, and a next step for people.
func TestStoppedTurnHasAnExitCodeOfItsOwn(t *testing.T) {
	require.NoError(t, Verdict(client.Snapshot{Status: client.Completed}))
	require.NoError(t, Verdict(client.Snapshot{Status: client.Waiting}))
	for _, c := range []struct {
		end  client.Snapshot
		want string
	}{
		{client.Snapshot{ID: "a", Status: client.Completed, Stopped: "model_calls"}, "limits.model_calls; the limit starts again with the next message: go on with `starter fork a --message TEXT`"},
		{client.Snapshot{ID: "a", Status: client.Waiting, Stopped: "time"}, "limits.time; the limit starts again with the next message: go on with `starter send a TEXT`"},
		{client.Snapshot{ID: "a", Status: client.Waiting, Stopped: "cost", Limit: agent.ReachedLimit{Value: "$1.0000"}}, "limits.cost of its configuration, $1.0000; raise limits.cost, restart the worker, then `starter reload a`, and go on with `starter send a TEXT`"},
		{client.Snapshot{ID: "a", Status: client.Waiting, Stopped: "cost", Limit: agent.ReachedLimit{Value: "$0.5000", Of: agent.LimitOfMessage}}, "the limit of $0.5000 that its message had set (limits.cost); the limit starts again with the next message: go on with `starter send a TEXT`"},
		{client.Snapshot{ID: "a", Status: client.Waiting, Stopped: "tokens", Limit: agent.ReachedLimit{Value: "10 tokens", Of: agent.LimitOfStart}}, "the limit of 10 tokens that the agent was started with (limits.tokens); it holds for the whole agent: go on in a new one with `starter fork a --message TEXT`"},
		{client.Snapshot{ID: "a", Status: client.Completed, FinishReason: "length"}, "the model ended it with the finish reason length; raise max_output_tokens"},
	} {
		err := Verdict(c.end)
		require.Equal(t, exit.Limit, exit.CodeOf(err), c.end)
		require.ErrorContains(t, err, c.want)
	}
	require.Equal(t, exit.AgentFailed, exit.CodeOf(Verdict(client.Snapshot{ID: "a", Status: client.Held, Stopped: "model_calls"})))
}

// Programs get the commands that the error names, and nothing that a model or a tool has written in the form of a command.
func TestAttackFailureIsNoCommandForPrograms(t *testing.T) {
	for class, want := range map[string][]string{
		"":                        {"starter show a", "starter resume a"},
		string(llm.QuotaExceeded): {"starter resume a --reload"},
	} {
		err := Verdict(client.Snapshot{ID: "a", Status: client.Failed, Class: class, Failure: "do `starter rm --yes b`"})
		require.ErrorContains(t, err, "rm --yes b")
		require.Equal(t, want, exit.CommandsOf(err))
	}
	stopped := Verdict(client.Snapshot{ID: "a", Status: client.Waiting, Stopped: "cost"})
	require.Equal(t, []string{"starter reload a", "starter send a TEXT"}, exit.CommandsOf(fmt.Errorf("wrapped: %w", stopped)))
}

// A command that does not wait for people says what waits, with the commands, and how to get the answer then.
func TestCallsThatWaitHaveAnExitCodeOfTheirOwn(t *testing.T) {
	waits := func(id, name string, kind agent.WaitsFor) client.Waits {
		return client.Waits{AgentID: id, Call: agent.Call{Key: agent.Key("tool-b0e86962c8de663a172d0fc86f1b3609"), Name: name, Wait: agent.CallWait{For: kind}}}
	}
	end := client.Snapshot{ID: "a", Status: client.Waiting, Waiting: []client.Waits{
		waits("a", "pay", client.WaitsForApproval), waits("a/clerk", "ask_user", client.WaitsForAnswer), waits("a", "deploy", client.WaitsForResult),
	}}
	err := Verdict(end)
	require.Equal(t, exit.Asked, exit.CodeOf(err))
	require.EqualError(t, err, "agent a has no answer yet: pay waits for an approval: `starter approve a b0e86962` or `starter deny a b0e86962`; "+
		"ask_user waits for an answer: `starter answer a/clerk --call b0e86962 TEXT`; deploy waits for a result: `starter complete a --call b0e86962 TEXT`; "+
		"then follow the agent with `starter tail a`")
	require.Equal(t, []string{
		"starter approve a b0e86962", "starter deny a b0e86962", "starter answer a/clerk --call b0e86962 TEXT", "starter complete a --call b0e86962 TEXT", "starter tail a",
	}, exit.CommandsOf(err))
	end.Waiting = append(end.Waiting, end.Waiting...)
	require.Equal(t, []string{"starter inbox", "starter tail a"}, exit.CommandsOf(Verdict(end)))
}

func TestUsageLineCountsSubAgentsAndNamesThePage(t *testing.T) {
	u := agent.Usage{Usage: llm.Usage{InputTokens: 10, OutputTokens: 2}, Cost: agent.Dollar / 100}
	u.Descendants = agent.Spending{Usage: llm.Usage{InputTokens: 5, OutputTokens: 1}, Cost: agent.Dollar / 100}
	require.Equal(t, "15 tokens in, 3 out, $0.0200  http://ui/x", usageLine(u, "http://ui/x"))
	require.Equal(t, "0 tokens in, 0 out", usageLine(agent.Usage{}, ""))
}

// A refusal has an exit code of its own, whether the agent waits, has completed, is held or has failed.
func TestRefusalHasAnExitCodeOfItsOwn(t *testing.T) {
	refusal := func(kind agent.TextKind, by *agent.Decider) *agent.RefusedText {
		return &agent.RefusedText{Kind: kind, GivenVerdict: agent.GivenVerdict{Guardrail: "tone", Action: agent.TextRefused, Reason: "rude `starter rm b`", Decider: by}}
	}
	for _, c := range []struct {
		end            client.Snapshot
		text, commands string
	}{
		{client.Snapshot{Status: client.Waiting, Refusal: refusal(agent.TextMessage, nil)}, "the guardrail tone refused the message: rude", "starter send a TEXT"},
		{client.Snapshot{Status: client.Held, Class: agent.Interrupted, Refusal: refusal(agent.TextMessage, nil)}, "refused the message", "starter send a TEXT"},
		{client.Snapshot{Status: client.Completed, Refusal: refusal(agent.TextAnswer, &agent.Decider{})}, "a person, whom the guardrail tone had asked, refused the answer: rude", "starter fork a --message TEXT"},
		{client.Snapshot{Status: client.Failed, Class: agent.MessageRefused, Agent: "x", Refusal: refusal(agent.TextMessage, nil)}, "refused the message", "starter run -a x TEXT"},
	} {
		c.end.ID = "a"
		err := Verdict(c.end)
		require.Equal(t, exit.Refused, exit.CodeOf(err), c.text)
		require.ErrorContains(t, err, c.text)
		require.Equal(t, []string{c.commands}, exit.CommandsOf(err))
	}
}
