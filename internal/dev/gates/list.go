package main

// The figures of the tests with agents under disturbances.
var (
	agentFigures = []figure{
		sum("agents", `^ *(\d+)  agents, sub-agents among them`),
		sum("worker kills", `^ *(\d+)  kills of a worker`),
		sum("decisions", `^ *(\d+)  decisions of people`),
		sum("tool effects", `^ *(\d+)  effects of tools`),
		sum("duplicate effects", `^ *(\d+)  duplicate effects of at-most-once tools`),
		sum("messages lost", `^ *(\d+)  messages lost`),
	}
	faultFigures = append([]figure{
		sum("cases", `^ *(\d+)  cases, of which`),
		sum("failed", `cases, of which (\d+) failed`),
	}, agentFigures...)
)

// disturbed is what the tests with agents under disturbances depend on.
var disturbed = reads{"./e2e/faults", "./internal/testkit/fault", "./cmd/..."}

// faultCases are the cases of the fault laboratory for each scenario, as patterns of go test.
func faultCases(more ...string) split {
	for _, scenario := range []string{"task", "parallel_tools", "sub-agent", "nested_sub-agent", "chat", "people"} {
		more = append(more, "TestFaultsChangeNothing/(undisturbed|_in)_"+scenario)
	}
	return over("FAULTS", more...)
}

// The gates stand in the order in which they run: those that find most in the least time come first.
var gates = []gate{
	{
		name: "properties", about: "random lives of agents against the laws of the core",
		reads:   reads{"./agent"},
		set:     []variable{{"LIVES", "10000"}},
		parts:   over("FIRST", "0", "10000", "20000", "30000", "40000", "50000", "60000", "70000", "80000", "90000"),
		figures: []figure{sum("lives", `(\d+) lives kept the laws`)},
	},
	{
		name: "worlds", about: "every life of small worlds with several runs",
		reads: reads{"./agent"},
		parts: whole, figures: []figure{sum("states", `(\d+) states`), sum("failed", `^--- FAIL`)},
	},
	{
		name: "mutants", about: "every mutant is killed",
		parts: listed("MUTANTS", "mutants-list"), together: true,
		figures: []figure{sum("killed", `^killed`), sum("not killed", `^(?:ALIVE|BROKEN|NO FIT)`)},
	},
	{
		name: "attacks", about: "hostile input",
		reads: reads{"./..."},
		parts: whole, figures: []figure{sum("tests", `^--- PASS: TestAttack`), sum("failed", `^--- FAIL`)},
	},
	{
		name: "fuzz", about: "every fuzz test for a time",
		set: []variable{{"FUZZTIME", "60s"}}, parts: listed("FUZZ", "fuzz-list"),
		figures: []figure{last("inputs", `^fuzz: elapsed: .*, execs: (\d+)`)},
	},
	{
		name: "trajectories", about: "every recorded conversation through the programs",
		reads: reads{"./llm", "./e2e/calls", "./cmd/..."},
		parts: whole, figures: []figure{sum("conversations", `(\d+) conversations ran through the binaries`)},
	},
	{
		name: "endpoint-faults", about: "agents at an endpoint of which three answers in ten go wrong",
		reads: reads{"./e2e/calls", "./cmd/..."},
		parts: whole, figures: []figure{
			sum("agents", `(\d+) agents finished`), sum("wrong answers", `agents finished; (\d+) of`), sum("answers", `agents finished; \d+ of (\d+)`),
		},
	},
	{
		name: "providers", about: "a long chat, with people and faults, with every provider",
		reads: reads{"./e2e/models", "./cmd/..."},
		parts: whole, figures: []figure{sum("chats", `^ +--- PASS: TestLongChat`), sum("requests", `(\d+) requests, `), sum("wrong answers", `(\d+) answers that went wrong`)},
	},
	{
		name: "compose-test", about: "docker-compose.yml with a container engine",
		reads: reads{
			"./e2e/compose", "./cmd/...", "docker-compose.yml", "Dockerfile", "examples/agents.yaml", "e2e/compose/engine.sh",
			"deploy/mcp/Dockerfile", "deploy/mcp/agents.yaml", "deploy/mcp/clock.mjs", "internal/pins/compose/go.mod", "internal/pins/cli/go.mod",
		},
		parts: whole, figures: []figure{sum("tests", `^--- PASS: TestCompose`), sum("failed", `^--- FAIL`)},
	},
	{
		name: "faults", about: "every disturbance at every point, and every pair of events in one task",
		reads:   disturbed,
		parts:   faultCases("TestPairsInOneTask"),
		figures: append([]figure{sum("pairs", `^ +--- PASS: TestPairsInOneTask/`)}, faultFigures...),
	},
	{
		name: "faults-encrypted", about: "the same with encrypted payloads",
		reads: disturbed,
		parts: faultCases(), figures: faultFigures,
	},
	{
		name: "soak", about: "agents under random kills, restarts, resets, forks and interrupts",
		reads: disturbed,
		set:   []variable{{"SOAK", "200"}}, parts: seeded(disturbed...), figures: agentFigures,
	},
	{
		name: "chaos", about: "everything disturbed at random, with people",
		reads: disturbed,
		set:   []variable{{"CHAOS", "100"}, {"CHAOS_AGENTS", "20"}, {"CHAOS_STORM", "30s"}},
		parts: seeds("CHAOS", disturbed...), together: true,
		figures: append([]figure{
			sum("seeds passed", `^--- PASS: TestChaos`),
			sum("top agents", `^ *(\d+)  agents$`),
			sum("with people", `^ *(\d+)  agents with decisions of people`),
			sum("resets", `^ *(\d+)  disturbances: resets in all`),
			sum("cancels", `^ *(\d+)  disturbances: (?:send-)?cancel`),
			sum("terminations", `^ *(\d+)  disturbances: terminate`),
			sum("interrupts", `^ *(\d+)  disturbances: interrupt`),
			sum("denials", `^ *(\d+)  decisions: denials`),
			sum("permissions", `^ *(\d+)  decisions: approvals with a permission`),
			sum("revocations", `^ *(\d+)  decisions: revocations`),
		}, agentFigures...),
	},
	{
		name: "chaos-telemetry", about: "the same with encryption, spans and metrics, which agree with what the model has answered",
		reads: disturbed,
		set:   []variable{{"CHAOS", "10"}, {"CHAOS_AGENTS", "12"}, {"CHAOS_STORM", "15s"}},
		parts: seeds("CHAOS", disturbed...), together: true,
		figures: append([]figure{sum("seeds passed", `^--- PASS: TestChaos`)}, agentFigures...),
	},
	{
		name: "bench", about: "what a turn costs",
		reads:   reads{"./bench", "./cmd/..."},
		parts:   over("BENCH", "turns20,turns50,turns200,turns500,long", "actions", "latency", "resets", "crowd", "replay", "tree", "extras", "inbox", "wake", "asleep", "kill", "resumed"),
		figures: []figure{sum("goals met", ` met$`), sum("goals missed", ` MISSED$`)},
	},
}
