package reagenttest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
)

// stages are the two ways to run a test.
var stages = map[string]func(testing.TB, reagent.Options) *reagenttest.Agents{"environment": reagenttest.New, "server": reagenttest.OnServer}

type order struct {
	Name string `json:"name"`
}

// shop returns the options of a program with an agent "clerk", whose orders need an approval, and a sub-agent "helper".
func shop(model llm.Client) reagent.Options {
	models := reagenttest.Models(model)
	main := models["main"]
	main.Price = reagent.Price{Input: reagent.Dollars(1) / 1_000_000, Output: reagent.Dollars(2) / 1_000_000}
	models["main"] = main
	return reagent.Options{
		Models: models,
		Tools: []reagent.Tool{
			reagent.Func("price", "Returns a price.", reagent.ReadOnly, func(_ context.Context, in order) (string, error) { return in.Name + ": 9 euros", nil }),
			reagent.Func("order", "Orders fruit.", reagent.AtMostOnce, func(_ context.Context, in order) (string, error) { return "ordered " + in.Name, nil }),
			reagent.Func("book", "Books a delivery.", reagent.Idempotent, func(_ context.Context, in order) (string, error) { return "booked " + in.Name, nil }),
		},
		Agents: []reagent.Agent{
			{
				Name: "clerk", Tools: []string{"price", "order", "book", "ask_user"}, Agents: []string{"helper"},
				Approval:        reagent.ApprovalPolicy{"order": reagent.ApprovalAlways},
				ApprovalTimeout: time.Hour,
			},
			{Name: "helper", Tools: []string{"order"}, Approval: reagent.ApprovalPolicy{"default": reagent.ApprovalAlways}},
		},
	}
}

func call(name, arguments string) llm.Reply {
	return reagenttest.Call(reagenttest.ToolCall("1", name, arguments))
}

func usage(reply llm.Reply, in, out int) llm.Reply {
	reply.Usage = llm.Usage{InputTokens: in, OutputTokens: out}
	return reply
}

// inEach runs a test in the test environment and on a server.
func inEach(t *testing.T, test func(*testing.T, func(testing.TB, reagent.Options) *reagenttest.Agents)) {
	for name, with := range stages {
		t.Run(name, func(t *testing.T) { test(t, with) })
	}
}

func TestAgentIsTestedInAFewLines(t *testing.T) {
	for name, with := range stages {
		t.Run(name, func(t *testing.T) {
			model := reagenttest.Script(usage(call("price", `{"name":"cherry"}`), 100, 10), usage(reagenttest.Say("9 euros"), 200, 20))
			agents := with(t, shop(model))
			run := agents.Run("clerk", "What is a cherry?")
			run.WantCalls(`price {"name":"cherry"}`).WantAnswer("9 euros")
			require.Equal(t, agent.Completed, run.Status())
			require.Equal(t, 1, run.Calls()[0].Runs)
			require.Equal(t, "cherry: 9 euros", run.Calls()[0].Result)
			require.Equal(t, 330, run.Usage().Tokens())
			require.Equal(t, "$0.0004", run.Usage().Cost.String())
			require.Len(t, agents.Requests("main"), 2)
			require.Equal(t, "What is a cherry?", agents.Requests("main")[0].Messages[0].Content)
			require.Equal(t, "user: What is a cherry?\nassistant: → price {\"name\":\"cherry\"}\ntool: cherry: 9 euros\nassistant: 9 euros\n", run.Text())
		})
	}
}

// A scripted agent has the same transcript, calls, effects and usage in the test environment and on a server.
func TestEnvironmentAndServerAgree(t *testing.T) {
	for script, act := range map[string]func(*reagenttest.Agent){
		"order":    func(a *reagenttest.Agent) { a.WantWaits(`order {"name":"cherry"}`).Approve("order") },
		"question": func(a *reagenttest.Agent) { a.Answer("melon") },
		"refused":  func(*reagenttest.Agent) {},
	} {
		t.Run(script, func(t *testing.T) {
			type seen struct {
				text, status string
				calls        []reagenttest.MadeCall
				effects      []reagenttest.Effect
				usage        agent.Usage
			}
			outcomes := map[string]seen{}
			for name, with := range stages {
				agents := with(t, shop(reagenttest.ScriptFile(t, "testdata/scripts/"+script+".script")))
				run := agents.Run("clerk", "Fruit, please.")
				act(run)
				run.Golden("testdata/golden/" + script + ".txt")
				saw := seen{text: run.Text(), status: string(run.Status()), calls: run.Calls(), effects: agents.Effects(""), usage: run.Usage()}
				for i := range saw.calls {
					if saw.calls[i].Decider != nil {
						saw.calls[i].Decider.Time = 0
					}
				}
				for i := range saw.effects {
					saw.effects[i].AgentID, saw.effects[i].Key = "", ""
				}
				// Calls of one reply run at the same time.
				slices.SortFunc(saw.effects, func(a, b reagenttest.Effect) int { return strings.Compare(a.Tool+a.Arguments, b.Tool+b.Arguments) })
				outcomes[name] = saw
			}
			require.Equal(t, outcomes["environment"], outcomes["server"])
		})
	}
}

func TestPeopleDecide(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		model := reagenttest.Script(
			reagenttest.Call(reagenttest.ToolCall("1", "order", `{"name":"cherry"}`), reagenttest.ToolCall("2", "order", `{"name":"melon"}`)),
			reagenttest.Say("one of two"), reagenttest.Say("again"),
		)
		agents := with(t, shop(model))
		chat := agents.Chat("clerk", "Two, please.")
		require.Equal(t, agent.WaitsForApproval, chat.WaitsFor())
		chat.WantWaits("order", "order")
		chat.ApproveAs(`order {"name":"cherry"}`, `{"name":"apple"}`).Deny("order", "too heavy").WantAnswer("one of two")
		require.Equal(t, `{"name":"apple"}`, agents.Effects("order")[0].Arguments)
		calls := chat.Calls()
		require.Equal(t, []int{1, 0}, []int{calls[0].Runs, calls[1].Runs})
		require.True(t, calls[1].Decider.Denied)
		require.Contains(t, calls[1].Result, "too heavy")
		chat.Send("And?").WantAnswer("again")
		chat.Close()
		require.Equal(t, agent.Completed, chat.Status())
	})
}

func TestSubAgentWaitsForAPerson(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		model := reagenttest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
			switch last := req.Messages[len(req.Messages)-1]; {
			case last.Content == "order a plum":
				return call("order", `{"name":"plum"}`), nil
			case last.Role == llm.User:
				return call("helper", `{"task":"order a plum"}`), nil
			default:
				return reagenttest.Say("(" + last.Content + ")"), nil
			}
		})
		agents := with(t, shop(model))
		run := agents.Run("clerk", "A plum, please.")
		run.SubAgent("helper").WantWaits("order").Approve("")
		run.Settle().WantAnswer("((ordered plum))")
		require.NotEqual(t, run.ID(), agents.Effects("order")[0].AgentID)
	})
}

// Settle returns while one call of the agent waits for a person and another call waits for a sub-agent that waits for a person.
func TestAgentThatWaitsBesideItsSubAgentSettles(t *testing.T) {
	model := reagenttest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Content == "order a plum":
			return call("order", `{"name":"plum"}`), nil
		case last.Role == llm.User:
			return reagenttest.Call(reagenttest.ToolCall("1", "helper", `{"task":"order a plum"}`), reagenttest.ToolCall("2", "order", `{"name":"fig"}`)), nil
		default:
			return reagenttest.Say("(" + last.Content + ")"), nil
		}
	})
	run := reagenttest.New(t, shop(model)).Run("clerk", "A plum and a fig, please.")
	run.WantWaits("order").SubAgent("helper").WantWaits("order")
	run.Approve("order").SubAgent("helper").Approve("order")
	run.Settle().WantAnswer("(ordered fig)")
}

// An agent that is looked up has the definition that the lookup returns for its name.
func TestAgentIsLookedUp(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		o := shop(reagenttest.Script(reagenttest.Say("hello"), reagenttest.Say("bye")))
		o.Agents = nil
		o.Lookup = func(_ context.Context, name string) (reagent.Agent, bool, error) {
			return reagent.Agent{Instructions: "You are " + name + ".", Tools: []string{"price"}}, strings.HasPrefix(name, "support-"), nil
		}
		agents := with(t, o)
		agents.Chat("support-acme", "hello").WantAnswer("hello").Send("bye").WantAnswer("bye")
		for _, req := range agents.Requests("main") {
			require.Equal(t, "You are support-acme.", req.Messages[0].Content)
		}
		require.Equal(t, agent.Failed, agents.Run("acme", "hello").Status(), "it is not found, so it fails at once")
	})
}

// An agent gets all that its start says, in the test environment, too.
func TestStartKeepsItsMetadata(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		known := make(chan map[string]string, 1)
		agents := with(t, shop(reagenttest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
			known <- llm.Metadata(ctx)
			return reagenttest.Say("hello"), nil
		})))
		run := agents.Start(reagent.StartOptions{
			Agent: "clerk", Message: "hello", MessageMetadata: agent.Metadata{"user": "ann"}, Metadata: agent.Metadata{"customer": "acme"},
			Overrides: agent.Overrides{Instructions: "Be brief."},
		}).Settle()
		require.Equal(t, agent.Metadata{"user": "ann"}, run.Transcript()[0].Metadata)
		require.Equal(t, "Be brief.", agents.Requests("main")[0].Messages[0].Content)
		require.Equal(t, map[string]string{"customer": "acme", "user": "ann"}, <-known)
	})
}

// In the test environment, a limit of an hour takes no time, and none passes before the test wants it.
func TestTimePassesOnlyWhenTheTestLetsIt(t *testing.T) {
	agents := reagenttest.New(t, shop(reagenttest.Script(call("order", `{"name":"cherry"}`), reagenttest.Say("late"))))
	run := agents.Run("clerk", "One, please.")
	run.Elapse(59 * time.Minute).WantWaits("order")
	run.Elapse(2 * time.Minute).WantWaits().WantAnswer("late")
	require.Contains(t, run.Calls()[0].Result, "denied")
	require.Empty(t, agents.Effects("order"))
}

// A turn is interrupted while its model is held up.
func TestRunningTurnIsInterrupted(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		asked := make(chan struct{}, 10)
		model := reagenttest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		})
		agents := with(t, shop(model))
		run := agents.Start(reagent.StartOptions{Agent: "clerk", Message: "Think."})
		<-asked
		run.Interrupt()
		require.Equal(t, agent.Held, run.Status())
	})
}
