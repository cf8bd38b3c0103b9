package telemetry

import "slices"

// Kind says what a [Metric] is.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
	Gauge     Kind = "gauge"
)

// Metric describes a metric. Its labels have the names of agents, models, servers and tools in configurations, and words of the code, so
// there are few of them. No label has the ID of an agent.
type Metric struct {
	Name, Unit, Description string
	Kind                    Kind
	Labels                  []string
	boundaries              []float64 // of a histogram
}

// The boundaries of the histograms: those of the conventions for calls, in seconds, longer ones for turns and people, and shares of a limit.
var (
	callSeconds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	longSeconds = []float64{0.1, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
	shares      = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.1, 1.5, 2}
)

var modelLabels = []string{operationName, requestModel, providerName, serverAddress, serverPort}

func with(labels []string, more ...string) []string {
	return slices.Concat(labels, more)
}

var (
	modelDuration = Metric{
		Name: "gen_ai.client.operation.duration", Unit: "s", Kind: Histogram, Description: "Duration of a request to a model.",
		Labels: with(modelLabels, errorType), boundaries: callSeconds,
	}
	firstChunk = Metric{
		Name: "gen_ai.client.operation.time_to_first_chunk", Unit: "s", Kind: Histogram, Description: "Time to the first part of a streamed reply.",
		Labels: modelLabels, boundaries: callSeconds,
	}
	modelTokens = Metric{
		Name: "gen_ai.client.inference.tokens", Unit: "{token}", Kind: Counter, Description: "Tokens of the replies of models.",
		Labels: with(modelLabels, tokenType),
	}
	inputByCache = Metric{
		Name: "gen_ai.client.inference.input_tokens_by_cache", Unit: "{token}", Kind: Counter, Description: "Input tokens, by what the cache did.",
		Labels: with(modelLabels, tokenCache),
	}
	outputByPhase = Metric{
		Name: "gen_ai.client.inference.output_tokens_by_phase", Unit: "{token}", Kind: Counter, Description: "Output tokens, by their use.",
		Labels: with(modelLabels, tokenPhase),
	}
	modelCost = Metric{
		Name: "reagent.cost", Unit: "{USD}", Kind: Counter, Description: "Cost of the replies of models that have a price.",
		Labels: modelLabels,
	}
	toolDuration = Metric{
		Name: "gen_ai.execute_tool.duration", Unit: "s", Kind: Histogram, Description: "Duration of an attempt at a tool call.",
		Labels: []string{operationName, toolName, errorType}, boundaries: callSeconds,
	}
	turnDuration = Metric{
		Name: "gen_ai.invoke_agent.duration", Unit: "s", Kind: Histogram, Description: "Duration of a turn, from the message to the answer.",
		Labels: []string{operationName, agentName, errorType}, boundaries: longSeconds,
	}
	limitUsed = Metric{
		Name: "reagent.turn.limit_used", Unit: "1", Kind: Histogram, Description: "Used share of the tightest limit at the end of a turn.",
		Labels: []string{agentName, limitName}, boundaries: shares,
	}
	waitDuration = Metric{
		Name: "reagent.wait.duration", Unit: "s", Kind: Histogram, Description: "Time for which a call waited for somebody outside.",
		Labels: []string{agentName, waitFor, toolName}, boundaries: longSeconds,
	}
	agentEvents = Metric{
		Name: "reagent.agent.events", Unit: "{event}", Kind: Counter, Description: "What happened to agents.",
		Labels: []string{agentName, eventName},
	}
	agentsByStatus = Metric{
		Name: "reagent.agents", Unit: "{agent}", Kind: Gauge, Description: "Agents of the namespace that have not ended, by status.",
		Labels: []string{agentStatus},
	}
	agentsWaiting = Metric{
		Name: "reagent.agents.waiting", Unit: "{agent}", Kind: Gauge, Description: "Agents of the namespace that wait, by what they wait for.",
		Labels: []string{waitFor},
	}
)

// Metrics returns all metrics.
func Metrics() []Metric {
	return []Metric{
		modelDuration, firstChunk, modelTokens, inputByCache, outputByPhase, modelCost, toolDuration, turnDuration, limitUsed, waitDuration,
		agentEvents, agentsByStatus, agentsWaiting,
	}
}
