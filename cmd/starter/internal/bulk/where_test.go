package bulk

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/llm"
)

func support() listing.Row {
	return listing.Row{
		Entry: client.Entry{
			ID: "talk", Agent: "support", Status: client.Failed, Started: time.Now().Add(-2 * time.Hour), Ended: time.Now().Add(-time.Hour), Parent: "office",
			Metadata: agent.Metadata{"customer": "42", "tenant-id": "a\"b"},
		},
		Snapshot: client.Snapshot{
			ID: "talk", Status: client.Failed, Class: "ServerError", Task: "Where is my order?", Digest: "0123456789ab", Stopped: "cost",
			Spent: &agent.Spending{Usage: llm.Usage{InputTokens: 1000, OutputTokens: 20}, Cost: agent.Dollar / 2},
		},
	}
}

// An expression selects by what is known about an agent.
func TestExpressionSelectsAgents(t *testing.T) {
	waiting := support()
	waiting.Entry.Status, waiting.Entry.Ended, waiting.Entry.Metadata = client.Running, time.Time{}, nil
	waiting.Snapshot.Status, waiting.Snapshot.WaitsFor = client.Waiting, client.WaitsForMessage
	for text, want := range map[string][2]bool{ // of the agent that failed, and of the one that is waiting
		`failed and agent == "support" and metadata.customer == "42"`: {true, false},
		`metadata["tenant-id"] == "a\"b"`:                             {true, false},
		`metadata.nothing == ""`:                                      {true, true},
		`"customer" in metadata`:                                      {true, false},
		`open`:                                                        {false, true},
		`waiting and waits_for == "message"`:                          {false, true},
		`status in ["failed", "timed_out"]`:                           {true, false},
		`tokens > 1000 and cost >= 0.5`:                               {true, true},
		`tokens / 2 > 600`:                                            {false, false},
		`age > duration("90m")`:                                       {true, true},
		`started < now() - duration("1h")`:                            {true, true},
		`ended < now()`:                                               {true, false},
		`ended > date("2020-01-01")`:                                  {true, false},
		`not (ended < now())`:                                         {false, true},
		`class == "ServerError" or held`:                              {true, true},
		`id startsWith "ta" and id matches "^t.*k$"`:                  {true, true},
		`lower(task) contains "ORDER" ? false : parent == "office"`:   {true, true},
		`digest != "ba9876543210" and stopped == "cost"`:              {true, true},
	} {
		w, err := Compile(text)
		require.NoError(t, err, text)
		for i, r := range []listing.Row{support(), waiting} {
			got, err := w.Matches(r)
			require.NoError(t, err, text)
			require.Equal(t, want[i], got, "%s of %s", text, r.Snapshot.Status)
			may, err := w.MayMatch(r.Entry)
			require.NoError(t, err, text)
			require.True(t, may || !got, "%s: an agent that matches is read", text)
		}
	}
}

// Agents that cannot match are not read, and no more is read of an agent than the expression needs.
func TestExpressionReadsWhatItNeeds(t *testing.T) {
	for text, want := range map[string]struct {
		depth listing.Depth
		may   bool
	}{
		`failed and agent == "x"`:                {listing.Listed, false},
		`held and agent == "x"`:                  {listing.Described, false},
		`(tokens > 9 and agent == "x") and open`: {listing.Described, false},
		`tokens > 9 or agent == "x"`:             {listing.Described, true},
		`not (tokens > 9 and agent == "x")`:      {listing.Described, true},
		`agent == "support" and digest == "1"`:   {listing.Whole, true},
		`ended > now() and held`:                 {listing.Described, false},
	} {
		w, err := Compile(text)
		require.NoError(t, err, text)
		require.Equal(t, want.depth, w.Depth(), text)
		may, err := w.MayMatch(support().Entry)
		require.NoError(t, err)
		require.Equal(t, want.may, may, text)
	}
}

// A mistake is found before any agent is read. The error is one line with the place, and lists the names.
func TestMistakeInAnExpressionShowsItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		``:                              `at the end of the expression`,
		`failed and agnt == "x"`:        `unknown name "agnt"; the names are id, agent, task, parent, metadata, open`,
		`failed and`:                    `unexpected token EOF, at character 10: d`,
		`agent`:                         `expected bool, but got string`,
		`agent == 42`:                   `mismatched types string and int), at character 7: == 42`,
		`$env.id == "x"`:                `unknown name "$env"`,
		`started < date("tomorrow")`:    `date cannot be computed`,
		`age > duration("2 weeks")`:     `duration cannot be computed`,
		`id == "x" and any(1..9, true)`: `ranges are not allowed, at character 20`,
		`repeat("x", 9) == id`:          `the function "repeat" is not allowed; the functions are date, duration, len`,
		`let x = id; true`:              `not allowed`,
		`metadata?.customer == ""`:      `not allowed`,
		`parent == nil`:                 `not allowed`,
		`started.Year() == 2026`:        `not allowed`,
		`len(filter([1], true)) > 0`:    `not allowed`,
		strings.Repeat("x", 4001):       `the limit is 4000`,
	} {
		_, err := Compile(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := Compile(`failed and agnt == "x"`)
	require.ErrorContains(t, err, `, at character 12: agnt == "x"`)
}

// No expression takes much time or memory: there is nothing in it that repeats.
func TestAttackExpressionIsBounded(t *testing.T) {
	for _, text := range []string{
		`all(1..900000, all(1..800000, true))`, `let a = id + id; true`, `len(1..1000000) > 1`, `map(1..9, # * 2)[0] == 1`,
		`reduce(1..9, #acc + #) == 1`, `toJSON(metadata) == ""`, `split(id, "") == []`, `sum(map([1], #)) == 1`,
	} {
		_, err := Compile(text)
		require.ErrorContains(t, err, "not allowed", text)
	}
	began := time.Now()
	for _, text := range []string{
		strings.Repeat("(", 1900) + "open" + strings.Repeat(")", 1900), "not " + strings.Repeat("not ", 900) + "open",
		strings.Repeat("id+", 1300) + `id == ""`, "open" + strings.Repeat(" and open", 430),
	} {
		w, err := Compile(text)
		if err == nil {
			_, err = w.Matches(support())
		}
		require.NoError(t, err, text[:20])
	}
	require.Less(t, time.Since(began), 10*time.Second)
}

// Each name has a depth and is documented, and no name is documented that does not exist.
func TestNamesOfExpressionsAreDocumented(t *testing.T) {
	var names []string
	for f := range reflect.TypeFor[facts]().Fields() {
		names = append(names, f.Tag.Get("expr"))
	}
	slices.Sort(names)
	listed := strings.Split(nameList(), ", ")
	slices.Sort(listed)
	require.Equal(t, names, listed)
	for _, name := range names {
		_, ok := depths[name]
		require.True(t, ok, name)
		require.Contains(t, NamesHelp, name)
	}
	require.Len(t, depths, len(names))
	require.Equal(t, functionNames, strings.Join(functions, ", "))
}
