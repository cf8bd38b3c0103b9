package reagenttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
	"github.com/reagent-dev/reagent/tool"
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

var _ = fmt.Sprint
var _ tool.Tool

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
