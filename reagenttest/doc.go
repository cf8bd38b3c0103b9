// Package reagenttest tests agents, and workflows that call agents. [New] runs the agents of a program in Temporal's test environment,
// without a server: workflow, activities and tools are the real ones, and time passes as fast as the agents work. [OnServer] runs the same
// test with a Temporal development server, where a worker can crash and an agent can be reset.
//
//	model := reagenttest.Script(
//		reagenttest.Call(reagenttest.ToolCall("1", "price", `{"name":"cherry"}`)),
//		reagenttest.Say("9 euros"),
//	)
//	agents := reagenttest.New(t, reagent.Options{
//		Agents: []reagent.Agent{clerk}, Tools: tools(), Models: reagenttest.Models(model),
//	})
//	run := agents.Run("clerk", "What is a cherry?")
//	run.WantCalls(`price {"name":"cherry"}`)
//	run.WantAnswer("9 euros")
//
// The methods that let something happen, such as [Agents.Run] and [Agent.Approve], return when the agents have settled: each has ended, is
// held, or waits for somebody. Between two such calls, no time passes in the test environment. If a method cannot do what it should, it
// ends the test with an error that says why.
//
// The page docs/testing.md of this module is a guide. Use the package only for tests.
package reagenttest
