package main

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/reagenttest"
)

// with returns the options of the program with a scripted model.
func with(model *reagenttest.Model) reagent.Options {
	o := shop(new(market))
	o.Models = reagenttest.Models(model)
	return o
}

func TestClerkTellsThePrice(t *testing.T) {
	model := reagenttest.Script(
		reagenttest.Call(reagenttest.ToolCall("1", "price", `{"name":"cherry"}`)),
		reagenttest.Say("A cherry costs 9 euros."),
	)
	agents := reagenttest.New(t, with(model))
	run := agents.Run("clerk", "What is a cherry?")
	run.WantCalls(`price {"name":"cherry"}`)
	run.WantAnswer("A cherry costs 9 euros.")
}

// The model is a text file, and so is the expected transcript.
func TestClerkAsksBeforeItOrders(t *testing.T) {
	agents := reagenttest.New(t, with(reagenttest.ScriptFile(t, "testdata/order.script")))
	run := agents.Run("clerk", "Order one cherry.")
	run.WantWaits("order")
	require.Empty(t, agents.Effects("order"), "nothing is ordered before a person has approved")
	run.Approve("order").Golden("testdata/order.txt")
	require.Len(t, agents.Effects("order"), 1)
}

// Nobody decides for an hour. In the test, the hour takes no time.
func TestOrderThatNobodyApprovesIsDenied(t *testing.T) {
	agents := reagenttest.New(t, with(reagenttest.ScriptFile(t, "testdata/order.script")))
	run := agents.Run("clerk", "Order one cherry.").Elapse(time.Hour)
	require.Contains(t, run.Calls()[1].Result, "denied")
	require.Empty(t, agents.Effects("order"))
}

// The worker dies between the order and the report of its result. The order is not repeated, and the model is told.
func TestOrderIsNotRepeatedAfterACrash(t *testing.T) {
	agents := reagenttest.OnServer(t, with(reagenttest.ScriptFile(t, "testdata/order.script")))
	agents.Crash(reagenttest.AfterTool("order"))
	run := agents.Run("clerk", "Order one cherry.").Approve("order")
	require.Equal(t, 1, agents.Crashes())
	require.Len(t, agents.Effects("order"), 1)
	require.Contains(t, run.Calls()[1].Result, "outcome unknown")
}

// A workflow of the program waits for its agent, and the agent for a person.
func TestWorkflowBuysWhatAPersonApproves(t *testing.T) {
	agents := reagenttest.New(t, with(reagenttest.ScriptFile(t, "testdata/order.script")))
	agents.Register(register)
	run := agents.Execute(Buy, "cherry")
	run.Agent().Approve("order")
	var answer string
	require.NoError(t, run.Settle().Result(&answer))
	require.Equal(t, "I have ordered it for 9 euros.", answer)
}

// What a model has said is in a file: here, a stand-in. `OPENAI_API_KEY=… go test -record` asks a real one.
func TestClerkUnderstandsTheModel(t *testing.T) {
	o := shop(new(market))
	endpoint := reagenttest.Recorded(t, "testdata/model.json", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"))
	o.Models = map[string]reagent.Model{"main": {Name: "gpt-4o-mini", BaseURL: endpoint.URL, APIKey: os.Getenv("OPENAI_API_KEY")}}
	run := reagenttest.New(t, o).Run("clerk", "What is a cherry?")
	run.WantCalls(`price {"name":"cherry"}`)
	require.Contains(t, run.Said(), "9")
}

// Agents that run since the last release go on with this code.
func TestRecordedHistoriesReplay(t *testing.T) {
	reagenttest.Replay(t, reagenttest.ReplayOptions{Register: register}, "testdata/histories")
}
