// Package lab is the fault laboratory: it disturbs agents, and compares what happened with what may happen. The tests in e2e/faults say
// which disturbances, and what must hold afterwards.
//
//   - A [Disturbance] in a [Scenario] strikes an agent once, at a chosen point.
//   - A [Pair] lets two events arrive with one workflow task.
//   - A [Soak] and [RunChaos] disturb many agents at random.
//
// In each of them, the model endpoint and the tools write into a [Ledger] what reaches them. A [Verdict] compares the ledger with the
// transcripts and histories of the agents.
package lab
