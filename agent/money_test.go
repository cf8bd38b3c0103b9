package agent_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// reported returns the usage of a reply: mostly of a usual size, and sometimes what no honest endpoint reports.
// The time is the seed, so that the other choices of a life stay what they were.
func reported(now int64) llm.Usage {
	r := rand.New(rand.NewPCG(uint64(now), 9))
	if r.IntN(8) > 0 {
		return llm.Usage{InputTokens: 10, OutputTokens: 5}
	}
	odd := func() int { return pick(r, 0, 1, -1, math.MinInt, math.MaxInt, 934_580_000_000, 1<<62, -1<<40) }
	return llm.Usage{InputTokens: odd(), OutputTokens: odd(), CachedTokens: odd(), CacheWriteTokens: odd(), ReasoningTokens: odd()}
}

func TestMoneyBelowZeroIsReadable(t *testing.T) {
	for amount, want := range map[agent.Money]string{
		-agent.Dollar / 2: "-$0.5000", -3*agent.Dollar - 50_000_000: "-$3.0001", -49_999_999: "$0.0000",
		agent.MaxMoney: "$9223372.0369", math.MinInt64: "-$9223372.0369",
	} {
		require.Equal(t, want, amount.String())
	}
}

// Sums and products of what comes from outside never overflow: they are what exact arithmetic gives, between 0 and the largest number.
func FuzzMoneySaturates(f *testing.F) {
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 934_580_000_000, 10_000_000} {
		f.Add(n, int64(10_000_000))
		f.Add(n, n)
	}
	exact := func(n *big.Int) agent.Money {
		if !n.IsInt64() {
			return agent.MaxMoney
		}
		return agent.Money(n.Int64())
	}
	f.Fuzz(func(t *testing.T, a, b int64) {
		x, y := big.NewInt(max(a, 0)), big.NewInt(max(b, 0))
		require.Equal(t, exact(new(big.Int).Add(x, y)), agent.Money(a).Add(agent.Money(b)))
		require.Equal(t, exact(new(big.Int).Mul(x, y)), agent.Money(a).Times(int(b)))
		require.Equal(t, int(exact(new(big.Int).Add(x, y))), llm.AddCounts(int(a), int(b)))
	})
}

// A usage with more tokens never costs less.
func TestMoreTokensNeverCostLess(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	odd := func() int { return pick(r, 0, 1, 1000, math.MaxInt, math.MinInt, 1<<53, r.IntN(1<<40)) }
	for range 10_000 {
		price := agent.Price{Input: agent.Money(odd()), Output: agent.Money(odd())}
		u := llm.Usage{InputTokens: odd(), OutputTokens: odd()}
		more := u.Add(llm.Usage{InputTokens: odd(), OutputTokens: odd()})
		require.GreaterOrEqual(t, price.Of(u), agent.Money(0), "%+v at %+v", u, price)
		require.GreaterOrEqual(t, price.Of(more), price.Of(u), "%+v and %+v at %+v", u, more, price)
	}
}

// An endpoint that reports a number of tokens with which the cost would overflow ends the agent's turn at its limit.
func TestAttackTokensThatOverflowStopTheAgent(t *testing.T) {
	for _, tokens := range []int{934_580_000_000, math.MaxInt, 1 << 62} {
		s := tree(agent.Limits{Cost: agent.Dollar})
		reply := wanting("one")
		reply.Candidate, reply.Usage.OutputTokens = "spare", tokens
		say(s, reply)
		require.Equal(t, "cost", s.Turn.Stopped)
		require.Empty(t, s.Children)
		require.Equal(t, llm.MaxReplyTokens, s.Usage.OutputTokens, "no reply has more")
		require.Equal(t, "$1000.0009", s.Usage.Cost.String())
	}
}

// Tokens and costs below zero give nothing back: not those of a reply, of empty replies, of an answer aside or of lost attempts.
func TestAttackNegativeUsageGivesNothingBack(t *testing.T) {
	less := llm.Usage{InputTokens: -1000, OutputTokens: math.MinInt, CachedTokens: -1, CacheWriteTokens: -1, ReasoningTokens: -1}
	s := tree(agent.Limits{})
	say(s, wanting("one"))
	before := s.Spent()
	s.Apply(agent.AsideAnswered{Usage: less, Candidate: "main"})
	s.Apply(agent.ChildFinished{Key: s.Children[0].Key, Result: agent.Result{Content: "done"}, Spent: &agent.Spending{Usage: less, Cost: math.MinInt64}})
	e := agent.ModelReplied{
		Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{Content: "done"}, Usage: less},
		Empty: agent.EmptyReplies{Count: -7, Usage: less}, Repeats: agent.Repeats{Attempts: -7, Lost: math.MaxInt},
	}
	require.True(t, s.Apply(e))
	require.Equal(t, before, s.Spent())
	require.Zero(t, s.Usage.Repeats.LostInputTokens)
	require.Zero(t, s.Usage.EmptyReplies)
}

// What a sub-agent reports never lifts its parent's limit, and a later report that has less takes nothing away.
func TestAttackSubAgentsSpendingNeverLiftsTheLimit(t *testing.T) {
	s := tree(agent.Limits{Tokens: 1000, Cost: agent.Dollar})
	say(s, wanting("one", "two"))
	one, two := s.Children[0].Key, s.Children[1].Key
	report := func(key agent.Key, failed bool, tokens int, cost agent.Money) {
		result := agent.ChildAnswered("done", 0)
		if failed {
			result = agent.ChildFailed("clerk", "done", 0)
		}
		s.Apply(agent.ChildFinished{
			Key: key, Result: result, Spent: &agent.Spending{Usage: llm.Usage{InputTokens: tokens}, Cost: cost},
		})
	}
	report(one, true, 50, 100)
	spent := s.Spent()
	report(one, false, 20, -agent.Dollar)
	require.Equal(t, spent, s.Spent())
	report(two, false, math.MaxInt, agent.MaxMoney)
	require.Equal(t, math.MaxInt, s.Spent().Tokens())
	require.Equal(t, agent.MaxMoney, s.Spent().Cost)
	require.NotEmpty(t, s.Turn.Stopped)
}

// A grant below zero, in a start input that somebody made by hand, does not lift the limits of the definition.
func TestAttackNegativeGrantLiftsNoLimit(t *testing.T) {
	s := tree(agent.Limits{Tokens: 50, Cost: agent.Dollar})
	s.Grant = agent.Grant{Tokens: -1, Cost: math.MinInt64}
	say(s, wanting("one"))
	require.Equal(t, "tokens", s.Turn.Stopped)
}

func TestDollarsAreRoundedAndBounded(t *testing.T) {
	for amount, want := range map[float64]agent.Money{
		1.5: agent.Dollar * 3 / 2, 0.15: 150_000_000_000, 1e-12: 1, -2: -2 * agent.Dollar, 1e9: agent.MaxMoney, math.Inf(1): agent.MaxMoney, math.Inf(-1): math.MinInt64,
	} {
		require.Equal(t, want, agent.Dollars(amount))
	}
	require.Error(t, agent.Limits{Cost: agent.Dollars(math.NaN())}.Check())
	require.Equal(t, agent.Money(150_000), agent.Dollars(0.15)/1_000_000, "a price of 0.15 dollars per million tokens")
}

// An amount that somebody took for dollars is refused, and the error says how to write it.
func TestCostLimitThatIsTooSmallIsRefused(t *testing.T) {
	require.ErrorContains(t, agent.Limits{Cost: 1}.Check(), "write Dollars(1) for 1 US dollars")
	require.Error(t, agent.Limits{Cost: agent.MinCost - 1}.Check())
	require.NoError(t, agent.Limits{Cost: agent.MinCost}.Check())
	require.Equal(t, "$0.0001", agent.MinCost.String())
}

// An agent may have its own words for the end of a turn at a limit.
func TestLimitIsToldInTheWordsOfTheDefinition(t *testing.T) {
	s := tree(agent.Limits{Cost: agent.MinCost, Message: "Please write to us again tomorrow."})
	say(s, wanting("one"))
	require.Equal(t, "Please write to us again tomorrow.", s.Answer())
	require.Equal(t, "cost", s.Turn.Stopped)
	require.Contains(t, s.Messages[2].Content, "limits.cost", "the model is told the limit")
	for _, text := range []string{" ", "\xff", string(make([]byte, agent.MaxLimitMessage+1))} {
		require.Error(t, agent.Limits{Message: text}.Check())
	}
	again := clone(s)
	require.Equal(t, s.Definition.Limits, again.Definition.Limits)
}

// What was spent and what sub-agents may still spend never passes the limits together, however many of them work at a time. Each of them
// passes its grant by a reply, which is at most as large as the largest of its parent. So the tree passes the limit by the last reply of
// the parent alone.
func TestGrantsInFlightKeepTheLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	refused := 0
	for range 200 {
		s := tree(agent.Limits{Tokens: 10_000, Cost: agent.Dollar})
		s.Definition.Tools[0].Background = r.IntN(2) == 0
		for round := range 12 {
			if _, asks := s.Next().(agent.CallModel); !asks {
				break
			}
			var tasks []string
			for i := range 1 + r.IntN(5) {
				tasks = append(tasks, fmt.Sprint("task ", round, i))
			}
			say(s, wanting(tasks...))
			reserved := s.Spent()
			for _, c := range s.Children {
				reserved = reserved.Add(agent.Spending{Usage: llm.Usage{InputTokens: c.Grant.Tokens + c.Margin.Tokens}, Cost: c.Grant.Cost + c.Margin.Cost})
			}
			require.LessOrEqual(t, reserved.Tokens(), 10_000+100, "the reply that asks for them has 100 tokens")
			if s.Turn.Stopped == "" && len(s.Pending()) < len(tasks) && !s.Definition.Tools[0].Background {
				refused++
			}
			for _, c := range s.Children {
				if c.Phase.Ended() || r.IntN(4) == 0 {
					continue
				}
				beyond := r.IntN(100) + 1
				spent := agent.Spending{Usage: llm.Usage{InputTokens: max(0, c.Grant.Tokens-1) + beyond}, Cost: c.Grant.Cost + 1_000_000*agent.Money(beyond)}
				if r.IntN(2) == 0 {
					spent = agent.Spending{Usage: llm.Usage{InputTokens: r.IntN(c.Grant.Tokens + 1)}}
				}
				s.Apply(agent.ChildFinished{Key: c.Key, Result: agent.ChildAnswered("done", 0), Spent: &spent})
			}
			s.Advance(0)
			require.LessOrEqual(t, s.Spent().Tokens(), 10_000+100)
			require.LessOrEqual(t, s.Spent().Cost, agent.Dollar+110_000_000)
		}
	}
	require.Positive(t, refused)
}

// Many sub-agents that begin with almost nothing would each spend a reply. The model is told why they do not begin.
func TestSubAgentsWithLessThanAReplyDoNotBegin(t *testing.T) {
	tasks := strings.Split(strings.Repeat("count,", 40), ",")[:40]
	for i := range tasks {
		tasks[i] += fmt.Sprint(i)
	}
	for _, limits := range []agent.Limits{{Tokens: 1000}, {Cost: 1_000_000_000}} {
		s := tree(limits)
		say(s, wanting(tasks...))
		require.Empty(t, s.Children)
		require.Contains(t, s.Messages[2].Content, "error: not run: ")
		require.Contains(t, s.Messages[2].Content, "one reply may ")
		say(s, wanting("one"))
		require.Len(t, s.Children, 1, "there is enough for one")
	}
}
