package reagenttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
)

// A test sees why an agent failed: as an error, in the transcript, and in what an assertion says.
func TestFailureIsTold(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		refuses := reagenttest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Message: "the key was refused"}
		})
		agents := with(t, shop(refuses))
		task, chat := agents.Run("clerk", "Go."), agents.Chat("clerk", "Hello.")
		var failed *reagenttest.FailedError
		require.ErrorAs(t, task.Err(), &failed)
		require.Equal(t, agent.Failed, failed.Status)
		require.Equal(t, string(llm.Unauthorized), failed.Class)
		require.Contains(t, failed.Message, "the key was refused")
		require.ErrorAs(t, chat.Err(), &failed)
		require.Equal(t, agent.Held, failed.Status)
		require.Equal(t, "user: Hello.\n(held: "+failed.Message+" (Unauthorized))\n", chat.Text())
		for name, assert := range map[string]func(*reagenttest.Agent){
			"answer": func(a *reagenttest.Agent) { a.WantAnswer("hi") },
			"calls":  func(a *reagenttest.Agent) { a.WantCalls("order") },
		} {
			said := fatal(t, func(tb testing.TB) { assert(with(tb, shop(refuses)).Run("clerk", "Go.")) })
			require.Contains(t, said, "the agent is failed: "+failed.Message, name)
		}
		fine := with(t, shop(reagenttest.Script(reagenttest.Say("hello")))).Run("clerk", "Go.")
		require.NoError(t, fine.Err())
	})
}

// A test that waits for an activity that is tried again is told which one it is, and why. In the test environment, time passes at once, and
// the last attempt ends the agent.
func TestWhatIsTriedAgainIsTold(t *testing.T) {
	o := shop(reagenttest.Script(reagenttest.Say("hello")))
	var up atomic.Bool
	o.Agents = nil
	o.Lookup = func(context.Context, string) (reagent.Agent, bool, error) {
		if !up.Load() {
			return reagent.Agent{}, false, errors.New("the database does not answer")
		}
		return reagent.Agent{}, true, nil
	}
	require.ErrorContains(t, reagenttest.New(t, o).Run("desk", "hi").Err(), "the database does not answer")

	agents := reagenttest.OnServer(t, o)
	run := agents.Start(reagent.StartOptions{Agent: "desk", Message: "hi"})
	require.Eventually(t, func() bool { return agents.Failing() != "" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "LoadAgent of "+run.ID()+` is tried again: look up the agent "desk": the database does not answer (Unavailable)`, agents.Failing())
	up.Store(true)
	run.Settle().WantAnswer("hello")
	require.Empty(t, agents.Failing())
}

// An agent that Lookup does not find fails at once.
func TestUnknownAgentFailsAtOnce(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		o := shop(reagenttest.Script())
		o.Agents = nil
		o.Lookup = func(context.Context, string) (reagent.Agent, bool, error) { return reagent.Agent{}, false, nil }
		run := with(t, o).Run("nobody", "hi")
		var failed *reagenttest.FailedError
		require.ErrorAs(t, run.Err(), &failed)
		require.Equal(t, client.UnknownAgent, failed.Class)
		require.Contains(t, failed.Message, "Lookup of the worker does not find it")
	})
}
