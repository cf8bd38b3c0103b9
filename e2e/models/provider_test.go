package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// talk is a scripted model. It answers each message of the user with two parallel calls, one more call, and a text. If a form is
// demanded, its first answer does not fit.
func talk(_ context.Context, req llm.Request) (llm.Reply, error) {
	steps, last := 0, llm.Message{}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.User:
			steps, last = 0, m
		case llm.Assistant:
			steps++
		}
	}
	var reply llm.Reply
	switch {
	case strings.HasPrefix(last.Content, "The conversation grows too long"):
		reply = llmtest.Say("They looked at cities.")
	case strings.Contains(last.Content, "does not fit the JSON schema"):
		reply = llmtest.Say(`{"city":"Rome"}`)
	case steps > 1:
		reply = llmtest.Say(fmt.Sprintf("Answer to %q.", said(last)))
	case steps == 1:
		reply = llmtest.Call(llmtest.ToolCall(fmt.Sprintf("call_%d_c", len(req.Messages)), "look", `{"city":"Rome"}`))
	default:
		reply = llmtest.Call(
			llmtest.ToolCall(fmt.Sprintf("call_%d_a", len(req.Messages)), "look", `{"city":"Paris"}`),
			llmtest.ToolCall(fmt.Sprintf("call_%d_b", len(req.Messages)), "look", `{"city":"Oslo"}`))
		reply.Message.Content = "Let me look."
	}
	reply.Message.Reasoning = fmt.Sprintf("Step %d <&>.", steps)
	reply.Usage = llm.Usage{InputTokens: 100 * len(req.Messages), OutputTokens: 5}
	return reply, nil
}

// said returns what the user has said in a message. For a model without a role for instructions, they stand before the first message.
func said(m llm.Message) string { return strings.TrimPrefix(m.Content, "Be brief.\n\n") }

// providers are the stand-ins for the blocks of the guide.
var providers = map[string]func() *standin.Provider{
	"Gemini": standin.Gemini, "DeepSeek": standin.DeepSeek, "Kimi": standin.Kimi, "OpenAI": standin.OpenAI, "Mistral": standin.Mistral,
	"Cloudflare": standin.Cloudflare, "MiniMax": standin.MiniMax, "OpenRouter": standin.OpenRouter, "Azure": standin.Azure,
	"Gemma": standin.Gemma, "Grok": standin.Grok, "GLM": standin.GLM, "Qwen": standin.Qwen, "Cerebras": standin.Cerebras,
	"Responses": nil, "Anthropic": nil, "Vertex": nil, "Bedrock": nil, // these APIs have their own rules
	"DeepSeekMessages": standin.DeepSeek, "KimiMessages": standin.Kimi, "MiniMaxMessages": standin.MiniMax,
}

// block matches a block of the guide: its name and its text.
var block = regexp.MustCompile("(?s)```yaml ([A-Za-z]+)\nmodels:\n(.*?)```")

// keyName matches the names of environment variables in the guide.
var keyName = regexp.MustCompile(`api_key_env: ([A-Z_]+)`)

// keyCommand matches a command for a key. It would need a login.
var keyCommand = regexp.MustCompile(`api_key_command: \[[^]]*\]`)

// url matches the base URL in a block, without its path.
var url = regexp.MustCompile(`base_url: "https?://[^/"]+`)

// guide returns the blocks of docs/providers.md by name.
func guide(t testing.TB) map[string]string {
	text, err := os.ReadFile("../../docs/providers.md")
	require.NoError(t, err)
	blocks := map[string]string{}
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		blocks[found[1]] = found[2]
	}
	return blocks
}

// A chat of more than thirty messages passes with every block of the guide: with tools, parallel calls, a steering message, an answer in a form, a
// compaction, a worker that is killed, a continue-as-new, a reset, a resume and a fork. The model answers nothing twice, and the
// provider refuses only what a worker learns from.
func TestChatHoldsWithEveryProvider(t *testing.T) {
	for name, model := range guide(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, name, model, `  chat:
    model: main
    instructions: Be brief.
    tools: [far.*]
    limits: {context_tokens: %d}
  form:
    model: main
    tools: [far.*]
    output_schema: {type: object, properties: {city: {type: string}}, required: [city], additionalProperties: false}
`, 1000, talk, nil)
			w := s.World
			chat := t.Name()

			first := w.Worker()
			w.Must("run", "--chat", "--agent", "chat", "--id", chat, "task 1")
			s.gate.Store(world.NewGate())
			w.Must("send", "--detach", chat, "task 2")
			s.gate.Load().Wait(t)
			w.Must("send", "--detach", chat, "rather this") // a steering message, while a tool runs
			first.Kill()
			s.gate.Store(nil)
			second := w.Worker()
			w.Eventually("the chat answers", func() bool { return w.Show(chat).Status == "waiting" })
			for n := 3; n <= 4; n++ {
				w.Must("send", chat, fmt.Sprint("task ", n))
			}
			w.Roll(chat)
			for n := 5; n <= 7; n++ {
				w.Must("send", chat, fmt.Sprint("task ", n))
			}
			whole := whole(w, chat)
			require.Greater(t, len(whole.Messages), 30)
			if name != "Gemma" { // it refuses stream_options, so its streams have no usage
				require.Positive(t, whole.Usage["compactions"])
			}

			w.Reset(chat, "", 3)
			w.Eventually("the chat is where it was", func() bool {
				s := w.Show(chat)
				return s.Status == "waiting" && len(lines(w, chat)) == len(whole.Messages)
			})
			require.Equal(t, whole.Lines(), lines(w, chat))
			w.TerminateAgent(chat)
			w.Must("resume", "--message", "task 8", chat)
			require.Equal(t, whole.Lines(), lines(w, chat)[:len(whole.Messages)])
			second.Kill()
			w.Worker()
			w.Must("fork", chat, "--at", "7", "--id", chat+"-fork", "--message", "task 9")
			w.Eventually("the fork answers", func() bool { return w.Show(chat+"-fork").Status == "waiting" })
			require.Equal(t, whole.Lines()[:7], lines(w, chat+"-fork")[:7])
			w.Must("run", "--agent", "form", "--id", chat+"-form", "task 10")
			require.JSONEq(t, `{"city":"Rome"}`, w.Show(chat+"-form").Answer)

			if s.provider != nil {
				require.Empty(t, s.provider.Violations())
			}
			answered := map[string]int{}
			for _, r := range s.far.Requests() {
				answered[r.Key]++
				require.Equal(t, 1, answered[r.Key], "%s was answered twice", r.Key)
			}
			// Each of three workers learns for itself.
			require.LessOrEqual(t, len(w.Model.Requests())-len(s.far.Requests()), 3*5)
			compactions := w.Show(chat).Usage["compactions"]
			if s.marks {
				requireReads(t, s.marked, compactions)
			} else {
				if name == "GLM" {
					compactions *= 2 // the next turn after a compaction is sent without the reasoning of the one before
				}
				requireHits(t, s.prefix, compactions)
			}
		})
	}
}

// requireHits asserts that the provider's prompt cache had the whole of an earlier request at the beginning of each request. There are
// exceptions: the first request of each of two agents, a fork, and the first request after each compaction.
func requireHits(t *testing.T, cache *standin.PrefixCache, compactions int) {
	seen, hits := map[int]bool{}, 0
	for _, u := range cache.Usages() {
		if seen[u.CachedTokens] {
			hits++
		}
		seen[u.InputTokens] = true
	}
	require.Greater(t, hits, 20)
	require.LessOrEqual(t, len(cache.Usages())-hits, 3+compactions, "%v", cache.Usages())
}

// requireReads asserts that each request reads from Anthropic's cache what an earlier one has written or read. The exceptions are those
// of [requireHits], and the requests for summaries: they forbid calls, and another tool choice is another prompt for Anthropic.
func requireReads(t *testing.T, cache *standin.PromptCache, compactions int) {
	seen, hits := map[int]bool{}, 0
	for _, n := range cache.Counts() {
		if seen[n.Read] {
			hits++
		}
		seen[n.Read+n.Written] = true
	}
	require.Greater(t, hits, 20)
	require.LessOrEqual(t, len(cache.Counts())-hits, 3+2*compactions, "%v", cache.Counts())
}

// whole returns an agent with all its messages.
func whole(w *world.World, id string) world.Shown {
	var s world.Shown
	require.NoError(w.T, json.Unmarshal([]byte(w.Must("show", "--all", "--json", id)), &s))
	return s
}

// lines returns the lines of all messages of an agent.
func lines(w *world.World, id string) []string { return whole(w, id).Lines() }
