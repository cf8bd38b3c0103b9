package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// window is a scripted model with a context window. It refuses requests that are longer than the window, and counts the
// tokens of the others.
type window struct {
	tokens  int
	refusal string
	reply   func(req llm.Request) llm.Reply

	mu       sync.Mutex
	answered map[string]int // replies by the key of the request
}

// size returns the length of a request in tokens, at four bytes a token.
func (m *window) size(req llm.Request) int {
	n := 0
	for _, message := range req.Messages {
		n += len(message.Content) + 8
		for _, call := range message.ToolCalls {
			n += len(call.Name) + len(call.Arguments)
		}
	}
	return n / 4
}

func (m *window) complete(_ context.Context, req llm.Request) (llm.Reply, error) {
	n := m.size(req)
	if n > m.tokens {
		return llm.Reply{}, &llm.Error{Class: llm.ContextTooLong, Message: m.refusal}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered == nil {
		m.answered = map[string]int{}
	}
	m.answered[req.Key]++
	reply := m.reply(req)
	reply.Usage = llm.Usage{InputTokens: n, OutputTokens: 10}
	return reply, nil
}

func isSummary(req llm.Request) bool {
	return strings.HasPrefix(req.Messages[len(req.Messages)-1].Content, "The conversation grows too long")
}

// reading returns a scripted model that reads the given number of pages with the tool read, one after another. After a
// summary, it continues behind the last page that the summary names. Its answer says how many pages it has read, so a
// test sees whether a summary lost something.
func reading(pages int) func(llm.Request) llm.Reply {
	return func(req llm.Request) llm.Reply {
		last := 0
		for _, m := range req.Messages {
			_, _ = fmt.Sscanf(m.Content, "page %d", &last)
			if i := strings.Index(m.Content, "I have read up to page "); i >= 0 {
				_, _ = fmt.Sscanf(m.Content[i:], "I have read up to page %d", &last)
			}
		}
		switch {
		case isSummary(req):
			return llmtest.Say(fmt.Sprintf("I have read up to page %d.", last))
		case last < pages:
			return llmtest.Call(llmtest.ToolCall("c", "read", fmt.Sprintf(`{"page":%d}`, last+1)))
		}
		return llmtest.Say(fmt.Sprintf("read %d pages", last))
	}
}

// pagesServer starts a tool server with the tool read, which returns a page of about a thousand bytes.
func pagesServer(t *testing.T) *world.ToolServer {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(_ context.Context, e world.Effect) (string, error) {
		var page int
		_, err := fmt.Sscanf(e.Arguments, `{"page":%d}`, &page)
		return fmt.Sprintf("page %d\n%s", page, strings.Repeat("words ", 160)), err
	})
	return tools
}

// If a conversation does not fit into the model's context window, it is summarised, and the agent goes on. This works
// with the error texts of several providers. After a reset, no model call is paid for again.
func TestLongConversationIsSummarised(t *testing.T) {
	for name, refusal := range map[string]string{
		"OpenAI":    "This model's maximum context length is 2000 tokens. However, your messages resulted in 2100 tokens.",
		"vLLM":      "This model's maximum context length is 2000 tokens. Please reduce the length of the messages.",
		"llama.cpp": "the request exceeds the available context size. try increasing the context size or enable context shift",
		"Anthropic": "prompt is too long: 2100 tokens > 2000 maximum",
		"Gemini":    "The input token count (2100) exceeds the maximum number of tokens allowed (2000).",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &window{tokens: 2000, refusal: refusal, reply: reading(30)}
			w := world.New(t, m.complete, pagesServer(t), "")
			w.Worker()
			w.Must("run", "--id", t.Name(), "read thirty pages")
			s := w.Show(t.Name())
			require.Equal(t, "read 30 pages", s.Answer)
			require.Len(t, s.Messages, 2+2*30, "the transcript is whole")
			require.Greater(t, s.Usage["compactions"], 2)
			require.Len(t, w.Tools.Effects(), 30)

			w.Reset(t.Name(), "", 2)
			w.Finished(t.Name(), "read 30 pages")
			for key, n := range m.answered {
				require.Equal(t, 1, n, "%s was paid for twice", key)
			}
			require.Equal(t, s.Lines(), w.Show(t.Name()).Lines())
		})
	}
}

// If an agent has the limit context_tokens, its conversation is summarised before the model refuses it.
func TestContextTokensSummariseEarly(t *testing.T) {
	m := &window{tokens: 2000, refusal: "too long", reply: reading(20)}
	w := world.New(t, m.complete, pagesServer(t), "    limits: {context_tokens: 1500}\n")
	w.Worker()
	w.Must("run", "--id", t.Name(), "read twenty pages")
	require.Equal(t, "read 20 pages", w.Show(t.Name()).Answer)
	require.Greater(t, w.Show(t.Name()).Usage["compactions"], 1)
	for _, r := range w.Model.Requests() {
		require.LessOrEqual(t, m.size(r.Request), m.tokens)
	}
}

// If even a summary would not fit into the context window, the task fails with a reason. The model is not asked again
// and again.
func TestConversationThatCannotBeShortenedIsHeld(t *testing.T) {
	m := &window{tokens: 100, refusal: "maximum context length is 100 tokens", reply: reading(3)}
	w := world.New(t, m.complete, pagesServer(t), "")
	w.Worker()
	_, errs, code := w.Starter("run", "--id", t.Name(), "read three pages")
	require.NotZero(t, code)
	require.Contains(t, errs, "the conversation is longer than the model's context window")
	require.Less(t, len(w.Model.Requests()), 8)
	require.Equal(t, "failed", w.Show(t.Name()).Status)
}

// When an agent continues as new, the messages that were summarised leave its state. `starter show --all` and a fork
// still find them, in the histories of the earlier runs.
func TestWhatWasSummarisedIsFoundInHistory(t *testing.T) {
	m := &window{tokens: 2000, refusal: "maximum context length is 2000 tokens", reply: reading(20)}
	w := world.New(t, m.complete, pagesServer(t), "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "read twenty pages")
	whole := w.Show(t.Name())
	require.Len(t, whole.Messages, 42)
	run := w.RunID(t.Name())
	require.NoError(t, w.Client.Upgrade(t.Context(), t.Name()))
	w.Eventually("it goes on in a new run", func() bool { return w.RunID(t.Name()) != run })
	w.Must("send", t.Name(), "and?")
	s := w.Show(t.Name())
	require.Greater(t, s.Earlier, 10)
	require.Less(t, len(s.Messages), 32)

	var all world.Shown
	require.NoError(t, json.Unmarshal([]byte(w.Must("show", "--all", "--json", t.Name())), &all))
	require.Equal(t, append(whole.Lines(), "user: and?", "assistant: read 20 pages"), all.Lines())
	require.Zero(t, all.Earlier)
	require.Contains(t, w.Must("show", t.Name()), fmt.Sprintf("%d earlier messages were summarised; --all shows them", s.Earlier))

	// Fork after a message that has left the state, and after one that is still in it.
	for _, at := range []int{3, whole.Usage["model_calls"] + 1} {
		if at%2 == 0 {
			at++
		}
		id := fmt.Sprint(t.Name(), "-", at)
		w.Must("fork", t.Name(), "--at", fmt.Sprint(at), "--id", id, "--message", "go on")
		w.Eventually("the fork answers", func() bool { return w.Show(id).Status == "waiting" })
		all = world.Shown{}
		require.NoError(t, json.Unmarshal([]byte(w.Must("show", "--all", "--json", id)), &all))
		require.Equal(t, whole.Lines()[:at], all.Lines()[:at])
		require.Equal(t, "assistant: read 20 pages", all.Lines()[len(all.Lines())-1])
	}
	_, errs, _ := w.Starter("fork", t.Name(), "--at", "4")
	require.Contains(t, errs, "fork it after message 3 or 5")

	w.Must("close", t.Name())
	require.Equal(t, "read 20 pages\n", w.Must("tail", "--last", "1", t.Name()))
}

// The state of an agent stays smaller than its context window, even if the agent makes thousands of tool calls in many
// runs. With REAGENT_LONG=1, the test makes 2,000 calls with a window of 32,000 tokens.
func TestAgentOfManyTurnsStaysSmall(t *testing.T) {
	turns, tokens := 450, 8_000
	if os.Getenv("REAGENT_LONG") != "" {
		turns, tokens = 2_000, 32_000
	}
	m := &window{tokens: tokens, refusal: "maximum context length exceeded", reply: reading(turns)}
	w := world.New(t, m.complete, pagesServer(t), "    limits: {model_calls: 10000}\n")
	worker := w.Worker()
	first := time.Now()
	w.Must("run", "--detach", "--id", t.Name(), "read on and on")
	deadline := 10 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var result struct{ Answer string }
	require.NoError(t, w.Temporal.GetWorkflow(ctx, t.Name(), "").Get(ctx, &result))
	require.Equal(t, fmt.Sprintf("read %d pages", turns), result.Answer)
	took := time.Since(first)

	events := w.Temporal.GetWorkflowHistory(t.Context(), t.Name(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	start, err := events.Next()
	require.NoError(t, err)
	input := start.GetWorkflowExecutionStartedEventAttributes().GetInput()
	require.Less(t, proto.Size(input), 4*tokens, "the state that goes from run to run is no larger than the window")
	s := w.Show(t.Name())
	require.Positive(t, s.Earlier)
	require.Less(t, len(s.Messages), turns)
	require.Len(t, w.Tools.Effects(), turns)
	w.NothingTwice()
	t.Logf("%d turns in %v, %d summaries, %d bytes of state in the last run's input, %d messages held, worker's peak memory %s",
		turns, took.Round(time.Second), s.Usage["compactions"], proto.Size(input), len(s.Messages), peakMemory(worker))
}

// peakMemory returns, as a text, the largest amount of memory that a process has used.
func peakMemory(p *world.Process) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return "unknown here"
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ = strings.Cut(peak, "\n")
	return strings.TrimSpace(peak)
}

// An agent that was terminated after a summary can be resumed. The summary and the calls before it are not paid for
// again.
func TestAgentIsResumedBehindASummary(t *testing.T) {
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) {
		var page int
		if _, err := fmt.Sscanf(e.Arguments, `{"page":%d}`, &page); err != nil {
			return "", err
		}
		if page == 15 {
			if err := g.Pass(ctx); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("page %d\n%s", page, strings.Repeat("words ", 160)), nil
	})
	m := &window{tokens: 2000, refusal: "maximum context length is 2000 tokens", reply: reading(20)}
	w := world.New(t, m.complete, tools, "")
	w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "read twenty pages")
	g.Wait(t)
	require.Positive(t, w.Show(t.Name()).Usage["compactions"])
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), t.Name(), "", "test"))
	close(g.Open)
	w.Must("resume", t.Name())
	s := w.Show(t.Name())
	require.Equal(t, "read 20 pages", s.Answer)
	require.Len(t, s.Messages, 42)
	for key, n := range m.answered {
		require.Equal(t, 1, n, "%s was paid for twice", key)
	}
}
