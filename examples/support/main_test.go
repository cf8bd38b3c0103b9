package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
)

// with returns the agents with a scripted model, and a shop that answers each request with its path.
func with(t *testing.T, replies ...llm.Reply) *reagenttest.Agents {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.URL.Path))
	}))
	t.Cleanup(server.Close)
	o := desk(shop(server.URL))
	o.Models = reagenttest.Models(reagenttest.Script(replies...))
	return reagenttest.New(t, o)
}

func TestLargeRefundWaitsForAPerson(t *testing.T) {
	agents := with(t,
		reagenttest.Call(reagenttest.ToolCall("1", "refund", `{"order":"A1","euros":20}`), reagenttest.ToolCall("2", "refund", `{"order":"A2","euros":80}`)),
		reagenttest.Say("Both are refunded."),
	)
	start := reagent.StartOptions{Agent: "desk", Message: "Refund both, please.", Metadata: map[string]string{"customer": "anna"}}
	chat := agents.Start(start).Settle()
	chat.WantWaits("refund")
	require.Len(t, agents.Effects("refund"), 1)
	chat.Approve("refund").WantAnswer("Both are refunded.")
	require.Len(t, agents.Effects("refund"), 2)
	require.Equal(t, "/customers/anna/refunds", chat.Calls()[1].Result)
}

func TestTriageKeepsTheOrderOfTheMails(t *testing.T) {
	agents := with(t, reagenttest.Say(`{"urgent":true,"summary":"broken"}`))
	agents.Register(func(r worker.Registry) { r.RegisterWorkflow(Triage) })
	var verdicts []Verdict
	require.NoError(t, agents.Execute(Triage, []string{"It is broken!"}).Settle().Result(&verdicts))
	require.Equal(t, []Verdict{{Urgent: true, Summary: "broken"}}, verdicts)
}
