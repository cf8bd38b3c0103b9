package openai_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/catalogue"
	"github.com/reagent-dev/reagent/llm/openai"
)

var quirks = flag.String("quirks", "testdata/quirks", "the folder of the cases of TestQuirks")

// besideText is the reason for the cases with a call at the beginning or the end of other text.
const besideText = "a model may copy a call from a file or a tool's result, so the call must not run; the note of the case permits to tell the model"

// otherwise has the cases in which the client intentionally does not do what the case expects. outcome is what the client does
// instead.
var otherwise = map[string]struct{ outcome, reason string }{
	"sse-when-not-asked":      {"proceed", "the note of the case permits a client that supports streaming to read the stream"},
	"ok-gzip-unannounced":     {"proceed", "the note of the case permits a client to recognise gzip by the first bytes; a reply that was paid for is not discarded"},
	"tool-use-failed-dialect": {"repair", "the note of the case permits reading this form of a call; the call is run, and the model gets no error about the form"},

	"args-large":         {"proceed", "the arguments arrive completely; the limit for a Temporal payload is known to the caller, not to the client"},
	"args-nul-character": {"proceed", "the arguments are valid JSON and match the schema; the tool refuses the path"},

	"say-prose-then-tag":       {"tool_error", besideText},
	"say-prose-then-tag-sse":   {"tool_error", besideText},
	"say-tag-then-prose":       {"tool_error", besideText},
	"say-tag-then-prose-sse":   {"tool_error", besideText},
	"say-dsml-after-prose":     {"tool_error", besideText},
	"say-dsml-after-prose-sse": {"tool_error", besideText},

	"history-400-bad-arguments":             {"fail", "the core never sends such a request: it replaces arguments that are not a JSON object by {}; if the error comes anyway, it is a clear failure"},
	"history-400-content-absent":            {"fail", "such a request is never sent: request.go adds the content, and the core replaces an empty result by a text"},
	"history-400-lone-surrogate":            {"fail", "such a request is never sent: the decoder and package repair replace unpaired surrogates"},
	"history-400-orphan-result":             {"fail", "such a request is never sent: a compaction never separates a call from its result"},
	"history-400-reasoning-missing":         {"fail", "the request of this test has no calls; for one with calls, the client sends the reasoning after this error (TestFormIsLearned)"},
	"history-400-unanswered-calls":          {"fail", "such a request is never sent: each call in the transcript has a result, also after a crash"},
	"history-400-unanswered-calls-deepseek": {"fail", "same reason as for history-400-unanswered-calls"},
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	cases := catalogue.Read(t, filepath.Join(*quirks, "*.json"))
	tally := &tally{wrong: map[string]bool{}}
	for _, q := range cases {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", q.Name, stream), func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if t.Failed() {
						tally.add(q.Name)
					}
				})
				runQuirk(t, q, stream)
			})
		}
	}
	t.Cleanup(func() { tally.report(t, cases) })
}

// offered returns the tools that the cases use.
func offered() []llm.ToolSpec { return slices.Clone(catalogue.Tools) }

func runQuirk(t *testing.T, q catalogue.Case, stream bool) {
	far := &catalogue.Endpoint{Case: q}
	client := serve(t, far, func(o *openai.Options) { o.NoStream = !stream })
	req := ask()
	req.Tools = offered()

	reply, err := client.Complete(t.Context(), req)

	catalogue.Asked(t, far.Requests())
	want := q.Expect.Outcome
	if o, ok := otherwise[q.Name]; ok {
		want = o.outcome
	}
	require.Equal(t, want, catalogue.Outcome(t, reply, err, want), "error %v, reply %.300v", err, reply)
	if err != nil {
		compareError(t, q, err)
	} else if want != "tool_error" && want != "a reply" {
		q.Compare(t, reply)
	}
	for n := range q.Then {
		again, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		require.NotEmpty(t, again.Message.ToolCalls, "the answer to request %d", n+2)
	}
}

func compareError(t *testing.T, q catalogue.Case, err error) {
	var told *llm.Error
	require.ErrorAs(t, err, &told)
	if strings.HasPrefix(q.Name, "history-400-") {
		require.Equal(t, llm.InvalidRequest, told.Class)
	}
	// The classes of a retry are not compared: the catalogue has other names for them.
	if _, ok := otherwise[q.Name]; !ok && !told.Class.Retryable() && len(q.Expect.Class) > 0 {
		require.Contains(t, q.Expect.Class, told.Class)
	}
	require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(q.Expect.ErrorContains))
	require.GreaterOrEqual(t, told.RetryAfter, time.Duration(q.Expect.MinDelayMS)*time.Millisecond)
	require.Less(t, len(err.Error()), 1000)
	require.NotContains(t, err.Error(), "very-secret")
}

// tally collects the cases that failed.
type tally struct {
	mu    sync.Mutex
	wrong map[string]bool
}

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong[name] = true
}

// report logs the number of cases for each outcome.
func (c *tally) report(t *testing.T, cases []catalogue.Case) {
	type row struct{ cases, right, otherwise, wrong int }
	rows := map[string]*row{"all": {}}
	var reasons []string
	for _, q := range cases {
		if rows[q.Expect.Outcome] == nil {
			rows[q.Expect.Outcome] = &row{}
		}
		o, argued := otherwise[q.Name]
		for _, r := range []*row{rows[q.Expect.Outcome], rows["all"]} {
			r.cases++
			switch {
			case c.wrong[q.Name]:
				r.wrong++
			case argued:
				r.otherwise++
			default:
				r.right++
			}
		}
		if argued {
			reasons = append(reasons, fmt.Sprintf("%s: %s, not %s: %s", q.Name, o.outcome, q.Expect.Outcome, o.reason))
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-11s %5s %6s %10s %6s\n", "outcome", "cases", "right", "otherwise", "wrong")
	for _, outcome := range slices.Sorted(maps.Keys(rows)) {
		r := rows[outcome]
		fmt.Fprintf(&table, "%-11s %5d %6d %10d %6d\n", outcome, r.cases, r.right, r.otherwise, r.wrong)
	}
	fmt.Fprintf(&table, "\notherwise, on purpose:\n  %s", strings.Join(reasons, "\n  "))
	t.Log(table.String())
}
