package workflows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// huge is as large as a payload may be.
var huge = strings.Repeat("x", 1_700_000)

// hugeKey begins as the key of a call.
var hugeKey = agent.Key("tool-" + strings.Repeat("0", len(huge)))

// outOfBounds has, for each update, arguments that no agent takes. An update that is not here has no argument.
var outOfBounds = map[string][]any{
	protocol.MessageUpdate: {
		agent.QueuedMessage{ID: "m", Text: huge}, agent.QueuedMessage{ID: huge, Text: "go"}, agent.QueuedMessage{ID: "m", Text: "go", Run: huge},
		agent.QueuedMessage{ID: "m", Text: "go", Images: []string{huge}}, agent.QueuedMessage{ID: "m"},
	},
	protocol.ReloadUpdate:      {huge, "", "a b", "a\nb"},
	protocol.ResumeLostUpdate:  {huge, "", "a b", "a\x00b"},
	protocol.PartialTextUpdate: {int64(math.MaxInt64), int64(math.MinInt64), int64(3_600_001)},
	protocol.DecideUpdate: {
		agent.Decision{Key: hugeKey, Approve: true}, agent.Decision{Key: "tool-0", Approve: true},
		agent.Decision{Key: aCall, Reason: huge}, agent.Decision{Key: aCall, Actor: agent.Actor{By: huge}}, agent.Decision{Key: aCall, Actor: agent.Actor{From: huge}},
		agent.Decision{Key: aCall, Message: huge}, agent.Decision{Key: aCall, Approve: true, Arguments: `{"a":"` + huge + `"}`},
		agent.Decision{Key: aCall, Approve: true, Remember: agent.Remember(huge)},
		agent.Decision{Key: aCall, Result: &agent.GivenResult{Content: huge}}, agent.Decision{Key: aCall, Result: &agent.GivenResult{Hash: huge}},
	},
	protocol.RevokeUpdate:    {hugeKey, agent.Key(huge), agent.Key(""), agent.Key("tool-0"), agent.Key("model-00000000000000000000000000000000"), aCall + "0"},
	protocol.InterruptUpdate: {agent.Interrupt{Run: testRun, Actor: agent.Actor{By: huge}}, agent.Interrupt{Run: testRun, Actor: agent.Actor{From: huge}}, agent.Interrupt{Run: huge}},
	protocol.AsideUpdate:     {agent.Aside{Run: testRun, Question: huge}, agent.Aside{Run: huge, Question: "why?"}, agent.Aside{Run: testRun}},
	protocol.CloseUpdate:     nil,
	protocol.UpgradeUpdate:   nil,
}

const (
	aCall = agent.Key("tool-0123456789abcdef0123456789abcdef")
	// testRun is the end of the run ID in Temporal's test environment.
	testRun = "id"
)

// constants returns the values of the constants of package protocol whose names end with the given text.
func constants(t *testing.T, suffix string) []string {
	var values []string
	files, err := filepath.Glob("../internal/protocol/*.go")
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.ValueSpec); ok && len(c.Values) == 1 && strings.HasSuffix(c.Names[0].Name, suffix) {
				value, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

// No update is accepted with an argument that is out of bounds. The history then has no event of it, and the state nothing.
func TestAttackEveryUpdateIsBounded(t *testing.T) {
	names := constants(t, "Update")
	require.NotEmpty(t, names)
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one")})
	rejected, sent := 0, 0
	b.RegisterDelayedCallback(func() {
		for _, name := range names {
			arguments, known := outOfBounds[name]
			require.True(t, known, "the update %q has no bound: give it a validator, and add arguments that it refuses", name)
			for _, argument := range arguments {
				sent++
				b.UpdateWorkflow(name, name+strconv.Itoa(sent), &testsuite.TestUpdateCallback{
					OnAccept: func() { t.Errorf("%s accepts %.80v", name, argument) },
					OnReject: func(err error) {
						rejected++
						require.NotContains(t, err.Error(), agent.ErrIdle.Error(), "it has to be refused for its size")
						require.NotContains(t, err.Error(), agent.ErrNoCall.Error(), "it has to be refused for its form")
						require.Less(t, len(err.Error()), 1000)
					},
					OnComplete: func(any, error) {},
				}, argument)
			}
		}
	}, time.Hour)
	b.RegisterDelayedCallback(func() {
		for _, in := range []protocol.TranscriptInput{{From: math.MinInt}, {From: math.MaxInt}, {Limit: math.MinInt}, {Limit: math.MaxInt}} {
			_, err := b.QueryWorkflow(protocol.TranscriptQuery, in)
			require.NoError(t, err)
		}
		for _, in := range []protocol.RequestInput{{Count: math.MinInt, From: math.MinInt}, {Count: math.MaxInt}, {Count: math.MinInt, Compact: true}, {Count: 1, From: math.MaxInt}} {
			_, err := b.QueryWorkflow(protocol.RequestQuery, in)
			require.NoError(t, err)
		}
		b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "close", t)
	}, 2*time.Hour)
	b.start(agent.Chat, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, sent, rejected)
	require.Equal(t, []string{"user: go", "assistant: one"}, b.transcript(t))
}

// The end of a sub-agent that comes by a signal is ignored if it is out of bounds: whoever reaches the namespace may send one.
func TestAttackSignalsAreBounded(t *testing.T) {
	require.Equal(t, []string{protocol.ChildEndSignal}, constants(t, "Signal"), "a new signal needs a bound, too")
	require.Error(t, protocol.ChildEnd{Key: aCall, AgentEnd: protocol.AgentEnd{Failure: huge}}.Check())
	require.NoError(t, protocol.ChildEnd{Key: aCall, AgentEnd: protocol.AgentEnd{Answer: huge}}.Check(), "it is cut")
}
