package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

func TestMoneyIsExactAndReadable(t *testing.T) {
	price := agent.Price{Input: 150_000, Cached: 75_000, Output: 600_000}
	cost := price.Of(llm.Usage{InputTokens: 1_000_000, CachedTokens: 400_000, OutputTokens: 10_000})
	require.Equal(t, agent.Money(90_000_000_000+30_000_000_000+6_000_000_000), cost)
	require.Equal(t, "$0.1260", cost.String())
	require.Equal(t, "$0.0000", agent.Money(49_999_999).String())
	require.Equal(t, "$0.0001", agent.Money(50_000_000).String())
}

// tree returns an agent with prices, the given limits, and clerks as sub-agents.
func tree(limits agent.Limits) *agent.State {
	limits.Depth = 2
	s := agent.New("a", agent.Start{Incarnation: "l", Agent: "x", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m", Text: "go"}}, 0)
	load := s.Next().(agent.Load)
	s.Apply(agent.DefinitionLoaded{Key: load.Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}, {Name: "spare", Model: "s"}},
		Prices: []agent.Price{{Input: 1_000_000, Output: 2_000_000}, {Input: 10_000_000, Output: 10_000_000}},
		Tools:  []agent.Tool{{Name: "clerk", Agent: "clerk"}}, Limits: limits,
	}})
	s.Advance(0)
	return s
}

func say(s *agent.State, reply llm.Reply) {
	s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: reply})
}

func wanting(tasks ...string) llm.Reply {
	reply := llm.Reply{Usage: llm.Usage{InputTokens: 90, OutputTokens: 10}, Candidate: "main"}
	for _, task := range tasks {
		arguments, _ := json.Marshal(map[string]string{"task": task})
		reply.Message.ToolCalls = append(reply.Message.ToolCalls, llm.ToolCall{Name: "clerk", Arguments: string(arguments)})
	}
	return reply
}

// A sub-agent gets a share of what is left of the budget. What it does not spend is free again.
func TestGrantsShareWhatIsLeft(t *testing.T) {
	s := tree(agent.Limits{Tokens: 1000, Cost: agent.Dollar})
	say(s, wanting("one", "two"))
	require.Len(t, s.Children, 2)
	for _, c := range s.Children {
		require.Equal(t, 300-100, c.Grant.Tokens, "900 are left, for two and the agent itself, and a reply has 100")
		require.Equal(t, agent.Grant{Tokens: 100, Cost: 110_000_000}, c.Margin)
		require.Equal(t, (agent.Dollar-110_000_000)/3-110_000_000, c.Grant.Cost)
	}
	one, two := s.Children[0].Key, s.Children[1].Key
	spent := agent.Spending{Usage: llm.Usage{InputTokens: 40, OutputTokens: 10}, Cost: 7}
	s.Apply(agent.ChildFinished{Key: one, Result: agent.Result{Content: "done"}, Spent: &spent})
	s.Apply(agent.ChildFinished{Key: one, Result: agent.Result{Content: "done"}, Spent: &spent}) // again
	s.Apply(agent.ChildFinished{Key: two, Result: agent.Result{Content: "lost", Kind: agent.NoAnswer}})
	require.Equal(t, 150, s.Spent().Tokens())
	require.Equal(t, agent.Money(110_000_000+7), s.Spent().Cost)

	// The second sub-agent did not report what it spent, so its part stays reserved.
	say(s, wanting("three"))
	require.Equal(t, (1000-100-100-50-300)/2-100, s.Children[2].Grant.Tokens)
}

// The grant of a sub-agent limits the sub-agent and all agents below it.
func TestGrantBoundsTheSubAgent(t *testing.T) {
	s := tree(agent.Limits{})
	s.Grant = agent.Grant{Tokens: 350}
	say(s, wanting("one"))
	require.Equal(t, 25, s.Children[0].Grant.Tokens)
	s.Apply(agent.ChildFinished{Key: s.Children[0].Key, Result: agent.Result{Content: "done"}, Spent: &agent.Spending{Usage: llm.Usage{InputTokens: 250}}})
	require.IsType(t, agent.Wait{}, s.Next())
	require.Equal(t, "tokens", s.Turn.Stopped)
	require.Contains(t, s.Answer(), "limit of 350 tokens")
	require.Equal(t, agent.ReachedLimit{Value: "350 tokens", Of: agent.LimitOfParent}, s.Turn.Limit)
}

// B15: a turn ends at the cost limit, and each of its calls has a result.
func TestCostLimitEndsTheTurn(t *testing.T) {
	s := tree(agent.Limits{Cost: 100_000_000}) // a hundredth of a cent
	say(s, wanting("one"))
	require.IsType(t, agent.Wait{}, s.Next())
	require.Equal(t, "cost", s.Turn.Stopped)
	require.Contains(t, s.Messages[2].Content, "not run: this agent reached its limit of $0.0001 (limits.cost)")
	require.Empty(t, s.Children, "nothing was started that nobody would pay for")
}

// The cost of a reply depends on the price of the candidate that replied.
func TestCostIsThatOfTheModelThatAnswered(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, llm.Reply{Message: llm.Message{Content: "hi"}, Usage: llm.Usage{InputTokens: 1}, Candidate: "spare"})
	require.Equal(t, agent.Money(10_000_000), s.Usage.Cost)
}

// Prices, grants and spending change no key.
func TestMoneyIsNotPartOfAnyKey(t *testing.T) {
	free, rich := tree(agent.Limits{}), tree(agent.Limits{Tokens: 1000})
	free.Definition.Prices, rich.Grant = nil, agent.Grant{Cost: agent.Dollar}
	say(free, wanting("one"))
	say(rich, wanting("one"))
	require.Equal(t, free.Pending(), rich.Pending())
	require.Equal(t, free.Children[0].Key, rich.Children[0].Key)
}

// The model is asked once to correct an answer that does not fit its schema. After that, the turn is held.
func TestAnswerThatDoesNotFitIsAskedForOnceMore(t *testing.T) {
	s := tree(agent.Limits{})
	wrong := func() {
		s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{Content: "three"}}, Invalid: "it is not valid JSON"})
	}
	wrong()
	require.Contains(t, s.Messages[2].Content, "does not fit the JSON schema that was asked for: it is not valid JSON.")
	require.Equal(t, llm.User, s.Messages[2].Role)
	require.True(t, s.Messages[2].Notice)
	wrong()
	require.Equal(t, agent.Held, s.Status())
	require.Equal(t, agent.InvalidOutput, s.Hold.Class)
	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "m2", Text: "again"}})
	s.Advance(0)
	say(s, llm.Reply{Message: llm.Message{Content: "3"}})
	require.Equal(t, agent.Waiting, s.Status())
	require.Equal(t, "3", s.Answer())
}

// The output schema of the start takes precedence over the definition's schema.
func TestSchemaOfARunIsAskedFor(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	s := agent.New("a", agent.Start{Incarnation: "l", Agent: "x", OutputSchema: schema, Message: &agent.QueuedMessage{ID: "m", Text: "go"}}, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{Name: "x"}})
	require.JSONEq(t, string(schema), string(s.Definition.RequestPrefix().Params.OutputSchema))
	require.Error(t, agent.Start{Agent: "x", Mode: agent.Chat, OutputSchema: []byte("[]")}.Check())
}

func TestImagesAreParts(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, llm.Reply{Message: llm.Message{Content: "hi"}})
	picture := "data:image/png;base64,iVBORw0KGgo="
	m := agent.QueuedMessage{ID: "m2", Text: "what is it?", Images: []string{"https://example.com/a.png", picture}}
	require.NoError(t, s.Accepts(m))
	s.Apply(agent.MessageReceived{Message: m})
	s.Advance(0)
	require.Equal(t, []llm.Part{
		{Type: "image", URL: "https://example.com/a.png"}, {Type: "image", URL: picture},
	}, s.Sent(2).Parts)

	for problem, images := range map[string][]string{
		"neither a web address nor a data: URL": {"file:///etc/passwd"},
		"there are 11 images":                   make([]string, 11),
		"the limit is 1 MiB":                    {"data:image/png;base64," + strings.Repeat("A", 3<<19)},
		"has 3000 bytes":                        {"https://example.com/" + strings.Repeat("a", 2980)},
	} {
		require.ErrorContains(t, agent.CheckMessage(agent.QueuedMessage{ID: "i", Images: images}), problem)
	}
	require.NoError(t, agent.CheckMessage(agent.QueuedMessage{ID: "i", Images: []string{"data:image/png;base64," + strings.Repeat("A", 1<<20)}}))
}

// An answer that reached the output limit is an answer, but it says so: in the transcript and in the outcome. Usual finish reasons are
// not kept.
func TestAnswerThatWasCutSaysSo(t *testing.T) {
	for finish, want := range map[string]string{"length": "length", "max_tokens": "max_tokens", "MAX_TOKENS": "MAX_TOKENS", "stop": "", "eos": "", "STOP": "", "end_turn": "", "": ""} {
		s := tree(agent.Limits{})
		say(s, llm.Reply{Message: llm.Message{Content: "The three steps are"}, FinishReason: finish})
		require.Equal(t, want, s.Messages[1].FinishReason)
		require.Equal(t, want, s.FinishReason())
		s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "m2", Text: "Go on."}})
		s.Advance(0)
		say(s, llm.Reply{Message: llm.Message{Content: "one, two, three"}})
		require.Empty(t, s.FinishReason(), "the next answer is whole")
	}
}

// An answer has the model that wrote it, and what its own turn has used: all replies, the empty ones and the sub-agents that have ended in the
// turn. A notice in place of an answer has them, too. A fork has used nothing.
func TestAnswerHasTheModelAndTheCostOfItsTurn(t *testing.T) {
	s := tree(agent.Limits{ModelCalls: 2})
	ten := llm.Usage{InputTokens: 9, OutputTokens: 1}
	say(s, llm.Reply{Message: wanting("one").Message, Usage: ten})
	s.Apply(agent.ChildFinished{Key: s.Children[0].Key, Result: agent.Result{Content: "1"}, Spent: &agent.Spending{Usage: ten, Cost: 7}})
	say(s, llm.Reply{Message: llm.Message{Content: "one"}, Usage: ten})
	first := s.Messages[len(s.Messages)-1]
	require.Equal(t, s.Spent(), first.Spent)
	require.Equal(t, 30, first.Spent.Tokens())
	require.Equal(t, s.Definition.Candidates[0].Model, first.Model)

	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "m2", Text: "and?"}})
	s.Advance(0)
	say(s, llm.Reply{Message: wanting("two").Message, Usage: ten})
	s.Apply(agent.ChildFinished{Key: s.Children[1].Key, Result: agent.Result{Content: "2"}, Spent: &agent.Spending{}})
	call := s.Next().(agent.CallModel)
	s.Apply(agent.ModelReplied{
		Key: call.Key, Reply: llm.Reply{Message: wanting("three").Message, Usage: ten}, Empty: agent.EmptyReplies{}.Add(ten),
	})
	require.Equal(t, "model_calls", s.Turn.Stopped)
	require.Equal(t, agent.ReachedLimit{Value: "2 model calls"}, s.Turn.Limit)
	use := agent.AnswerUse(s.Messages)
	require.Equal(t, 30, use.Tokens())
	require.Equal(t, first.Model, use.Model)
	require.True(t, s.Messages[len(s.Messages)-1].Notice)
	require.Zero(t, agent.AnswerUse(s.Messages[:len(s.Messages)-1]), "the turn runs")

	fork, err := s.Fork(agent.Identity{AgentID: "b"}, agent.Chat, s.Count(), 0)
	require.NoError(t, err)
	require.Zero(t, agent.AnswerUse(fork.Messages).Spending)
	require.Equal(t, use, agent.AnswerUse(s.Messages), "the fork has its own messages")
}

// Tokens that were written to a cache have their own price, or else that of other input.
func TestTokensWrittenToACacheHaveTheirPrice(t *testing.T) {
	u := llm.Usage{InputTokens: 100, CachedTokens: 60, CacheWriteTokens: 30, OutputTokens: 1}
	require.Equal(t, agent.Money(10*10+60*1+30*12+50), agent.Price{Input: 10, Cached: 1, CacheWrite: 12, Output: 50}.Of(u))
	require.Equal(t, agent.Money(10*10+60*1+30*10+50), agent.Price{Input: 10, Cached: 1, Output: 50}.Of(u))
	require.Equal(t, agent.Money(100*10), agent.Price{Input: 10, Cached: 10}.Of(llm.Usage{InputTokens: 100, CachedTokens: 80, CacheWriteTokens: 80}))
}

// If a new definition sends the reasoning back, the next model call has the key of what it sends.
func TestReloadThatSendsTheReasoningKeepsTheKeyTrue(t *testing.T) {
	s := tree(agent.Limits{})
	say(s, llm.Reply{Message: llm.Message{Content: "one", Reasoning: "hm"}})
	changed := *s.Definition
	changed.SendReasoning = true
	s.Apply(agent.ReloadAsked{ID: "r"})
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: changed})
	s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "m2", Text: "and?"}})
	s.Advance(0)

	chain := ""
	for i := range s.SentCount() {
		chain = agent.HashMessages(chain, s.Sent(i))
	}
	require.Equal(t, "hm", s.Sent(1).Reasoning)
	require.Equal(t, s.ModelIdentity().Key(chain), s.Next().(agent.CallModel).Key)
}

// A person interrupts a turn, and gives the agent a lower budget, which is used up. If the agent is then resumed, it asks the model no more.
func TestResumedTurnKeepsItsBudget(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
	load := func(tokens int) {
		t.Helper()
		require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
			Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Tools: []agent.Tool{{Name: "note"}}, Limits: agent.Limits{Tokens: tokens},
		}}))
	}
	load(0)
	s.Advance(0)
	reply := llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{{ID: "1", Name: "note", Arguments: "{}"}}}, Usage: llm.Usage{OutputTokens: 300}}
	require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: reply}))
	require.True(t, s.Apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(1)))
	require.True(t, s.Apply(agent.ReloadAsked{ID: "r"}))
	load(200)
	require.True(t, s.Apply(agent.Resumed{RunID: "r", Time: 2}))
	require.Equal(t, "tokens", s.Turn.Stopped)
	_, asks := s.Next().(agent.CallModel)
	require.False(t, asks)
}

// The limit of which the turn has used the largest share is the tightest. An agent without a definition or limits has none.
func TestTightestLimit(t *testing.T) {
	s := &agent.State{Turn: agent.Turn{ModelCalls: 3, Began: 1000}}
	require.Zero(t, s.Tightest(2000))
	s.Definition = &agent.Definition{}
	require.Zero(t, s.Tightest(2000))
	s.Definition.Limits = agent.Limits{ModelCalls: 10, Tokens: 100, Cost: agent.Dollar, Time: 10 * time.Second}
	require.Equal(t, agent.LimitUse{"model_calls", 0.3}, s.Tightest(2000))
	require.Equal(t, agent.LimitUse{"time", 0.5}, s.Tightest(6000))
	s.Usage.InputTokens = 120
	require.Equal(t, agent.LimitUse{"tokens", 1.2}, s.Tightest(6000))
	s.Usage.Cost = 2 * agent.Dollar
	require.Equal(t, agent.LimitUse{"cost", 2}, s.Tightest(6000))
}
