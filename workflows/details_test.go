package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// details returns the current details.
func (b *bench) details(t *testing.T) string {
	value, err := b.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var about sdk.WorkflowMetadata
	require.NoError(t, value.Get(&about))
	return about.GetCurrentDetails()
}

// A text of a model cannot end the block that quotes it, and the Web UI does not treat it as Markdown or HTML.
func TestAttackMarkupInDetails(t *testing.T) {
	evil := strings.Join([]string{"hello", "\r", "\n", "\r\r", "\u0085\u0085", "\u2028", "\u2029", "\v", "\f", "\n\n"}, "<form><button>Approve</button></form>[x](http://evil)")
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "re`<form>`ad", "{\"a\":\"`"+evil+"`\"}")),
		3: llmtest.Say(evil),
	})
	b.start(agent.Task, evil)
	require.NoError(t, b.GetWorkflowError())
	details := b.details(t)
	require.NotContains(t, details, "\r")
	for _, line := range strings.FieldsFunc(details, func(r rune) bool { return strings.ContainsRune("\r\n\v\f\u0085\u2028\u2029", r) }) {
		if !strings.Contains(line, "<form>") && !strings.Contains(line, "](http") {
			continue
		}
		ticks := strings.Count(line, "`")
		inCode := strings.HasSuffix(line, "`") && (strings.HasPrefix(line, "- `") && ticks == 4 || strings.HasPrefix(line, "**tool** `") && ticks == 2)
		require.True(t, strings.HasPrefix(line, "    ") || inCode, "%q", line)
	}
	require.True(t, strings.HasSuffix(details, "\n\n&nbsp;\n"), "the Web UI cuts off the last line")

	summary := workflows.StaticSummary(agent.Start{Agent: "x", Message: &agent.QueuedMessage{Text: evil + "\x1b[2J\u202e"}})
	for _, bad := range []string{"<", "](", "\x1b", "\u202e", "\u2028", "`"} {
		require.NotContains(t, summary, bad)
	}
	static := workflows.StaticDetails(agent.Start{Agent: "<form>", Message: &agent.QueuedMessage{Text: strings.Repeat(evil, 1000)}})
	require.Contains(t, static, "`<form>`")
	require.True(t, strings.HasSuffix(static, "\n\n&nbsp;\n"))
	require.LessOrEqual(t, len(static), 16_000)
}

// The static details link to a page of the documentation.
func TestStaticDetailsLinkToTheDocumentation(t *testing.T) {
	_, link, found := strings.Cut(workflows.StaticDetails(agent.Start{Agent: "x"}), "[what people can do](https://github.com/reagent-dev/reagent/blob/main/")
	require.True(t, found)
	page, _, _ := strings.Cut(link, ")")
	require.FileExists(t, "../"+page)
}

// The details show a call that waits for an approval as a person judges it: a text with its line breaks, in a code block that no text ends.
func TestDetailsShowWhatACallWouldDo(t *testing.T) {
	b := newBench(t)
	b.def.Tools[1].Approval, b.def.Tools[2].Approval = true, true
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "pay", `{"to":"kim","note":"one\n\n</li> `+"```"+`\u0085- two"}`), llmtest.ToolCall("2", "read", `{"n":1}`)),
		4: llmtest.Say("done"),
	})
	b.RegisterDelayedCallback(func() {
		details := b.details(t)
		require.Contains(t, details, "- `pay`: `starter approve ")
		require.Contains(t, details, "`\n\n      to  kim\n      note (3 lines, 21 bytes")
		require.Contains(t, details, "\n        one\n        \n        </li> ```\\x85- two\n")
		require.Contains(t, details, "- `read` `{\"n\":1}`: `starter approve ")
	}, time.Minute)
	b.decideAfter(t, time.Hour, agent.Decision{Approve: true}, "")
	b.decideAfter(t, 2*time.Hour, agent.Decision{Approve: true}, "")
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
}

// The details and the timeline say that a text waits, which guardrail asks and why, and the details have the commands. No text ends its block.
func TestDetailsShowATextThatWaits(t *testing.T) {
	b := newBench(t)
	seen := b.watched()
	b.def.Guardrails.Messages = []string{"tone"}
	b.judge = func(protocol.CheckTextInput) agent.Verdict {
		return agent.Verdict{Action: agent.TextAsks, Reason: "is `this` rude?\n- no"}
	}
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("done")})
	b.RegisterDelayedCallback(func() {
		details, handle := b.details(t), b.open(t)[0].Key.Handle()
		require.Contains(t, details, "**Next**: you. These texts wait for a person:\n\n- the text of the message, about which the guardrail `tone` asks (`is 'this' rude? - no`): "+
			"`starter approve default-test-workflow-id "+handle+"` or `starter deny default-test-workflow-id "+handle+"`\n\n      Hurry up!\n      - <b>now</b>\n")
	}, time.Minute)
	b.decideAfter(t, time.Hour, agent.Decision{Approve: true}, "")
	b.start(agent.Task, "Hurry up!\n- <b>now</b>")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{"waits for approval · guardrail tone asks about the message · Hurry up! - ‹b›now‹/b›"}, seen.marks)
}

// The details say who has to act next, and with which command.
func TestDetailsSayWhatIsNext(t *testing.T) {
	b := newBench(t)
	b.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "my chat"})
	refuses := true
	b.def.Prices = []agent.Price{{Input: agent.Dollar}}
	b.model = func(count int) (llm.Reply, error) {
		if count == 3 && refuses {
			refuses = false
			return llm.Reply{}, temporal.NewNonRetryableApplicationError("the key was refused", string(llm.Unauthorized), nil)
		}
		return llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: "hello"}, Usage: llm.Usage{InputTokens: 2}, Candidate: "main"}, nil
	}
	at := func(after time.Duration, f func()) { b.RegisterDelayedCallback(f, after) }
	at(time.Hour, func() {
		require.Contains(t, b.details(t), "**waiting** · turn 1 · 1 model call · 0 tool calls · 2 tokens in, 0 out · $2.0000\n\n**Next**: you. The agent waits for a message: `starter send 'my chat' \"…\"`\n")
	})
	at(2*time.Hour, func() {
		b.UpdateWorkflowNoRejection(protocol.MessageUpdate, "m", t, agent.QueuedMessage{ID: "m", Text: "second"})
	})
	at(3*time.Hour, func() {
		require.Contains(t, b.details(t), "`starter send 'my chat' \"…\"`\n\n**Held** (`"+string(llm.Unauthorized)+"`)\n\n    the key was refused\n")
	})
	at(4*time.Hour, func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) })
	b.start(agent.Chat, "first")
	require.Error(t, b.GetWorkflowError())
	details := b.details(t)
	require.Contains(t, details, "**failed** ·")
	require.Contains(t, details, "**Failed** (`"+string(llm.Unauthorized)+"`)\n\n    the key was refused\n")
	require.Contains(t, details, "`starter resume 'my chat'`")
	require.NotContains(t, details, "Held")
}
