package builtin_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// kit is the built-in tools under test, called as a model calls them.
type kit struct {
	t     *testing.T
	tools map[string]tool.Tool
}

func newKit(t *testing.T, o builtin.Options) kit {
	t.Helper()
	tools, err := builtin.Tools(o)
	require.NoError(t, err)
	k := kit{t: t, tools: map[string]tool.Tool{}}
	for _, tl := range tools {
		spec := tl.Spec()
		effect := map[string]tool.Effect{"write_file": tool.Idempotent, "edit_file": tool.AtMostOnce, "shell": tool.AtMostOnce}[spec.Name]
		require.Equal(t, cmp.Or(effect, tool.ReadOnly), spec.Effect, spec.Name)
		require.Equal(t, spec.Effect != tool.ReadOnly, spec.NeedsApproval, "a tool that changes something asks first: %s", spec.Name)
		k.tools[spec.Name] = tl
	}
	return k
}

func (k kit) run(name string, args map[string]any) tool.Result {
	k.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	encoded, err := json.Marshal(args)
	require.NoError(k.t, err)
	res, err := tool.Run(k.t.Context(), k.tools[name], string(encoded))
	require.NoError(k.t, err)
	return res
}

// ok runs a tool, requires a result that is not an error, and returns its content.
func (k kit) ok(name string, args map[string]any) string {
	k.t.Helper()
	res := k.run(name, args)
	require.False(k.t, res.IsError, res.Content)
	return res.Content
}

// fails runs a tool, requires an error result, and returns its content.
func (k kit) fails(name string, args map[string]any) string {
	k.t.Helper()
	res := k.run(name, args)
	require.True(k.t, res.IsError, res.Content)
	return res.Content
}

func TestFileToolsNeedARoot(t *testing.T) {
	require.Len(t, newKit(t, builtin.Options{}).tools, 3)
	require.Len(t, newKit(t, builtin.Options{Root: t.TempDir()}).tools, 8)
	_, err := builtin.Tools(builtin.Options{Root: t.TempDir() + "/none"})
	require.Error(t, err)
}

func TestCalculator(t *testing.T) {
	k := newKit(t, builtin.Options{})
	for expression, want := range map[string]string{
		"1 + 2 * 3":                "7",
		"(1+2)*3":                  "9",
		"0.1 + 0.2":                "0.3",
		"-2 ^ 2":                   "-4",
		"2 ** 3 ** 2":              "512",
		"7 / 2":                    "3.5",
		"7 % 3":                    "1",
		"-7 % 3":                   "-1",
		"7.5 % 2":                  "1.5",
		"1/3":                      "0.333333333333333",
		"1/3*3":                    "1",
		"sqrt(2)":                  "1.4142135623731",
		"sqrt(9/4)":                "1.5",
		"9007199254740993 + 0":     "9007199254740993",
		"9223372036854775807 + 1":  "9223372036854775808",
		"2^100":                    "1267650600228229401496703205376",
		"2^-2":                     "0.25",
		"1e3 + 1":                  "1001",
		"1.5e300 * 1e10":           "1.5e+310",
		"1_000_000 * 3":            "3000000",
		"1000000 * 1.05 ^ 10":      "1628894.62677744",
		"round(2.5) + round(-2.5)": "0",
		"round(2.345, 2)":          "2.35",
		"floor(-0.5)":              "-1",
		"ceil(1/3)":                "1",
		"max(1, 2.5, 2)":           "2.5",
		"min(3, pi)":               "3",
		"abs(-3)":                  "3",
		"sin(0) + cos(0)":          "1",
		"ln(e)":                    "1",
		"log(8, 2)":                "3",
		"hypot(3, 4)":              "5",
		"10 ^ 25 / 10 ^ 25":        "1",
		"1 / 8000000":              "0.000000125",
	} {
		if expression == "1.5e300 * 1e10" { // too large for a float64, but exact
			require.Len(t, k.ok("calculator", map[string]any{"expression": expression}), 311)
			continue
		}
		require.Equal(t, want, k.ok("calculator", map[string]any{"expression": expression}), expression)
	}
}

func TestCalculatorRefusesWhatIsNotArithmetic(t *testing.T) {
	k := newKit(t, builtin.Options{})
	for expression, want := range map[string]string{
		"1 / 0":                             "division by zero",
		"1 % 0":                             "division by zero",
		"0 ^ -1":                            "division by zero",
		"1 / (0.5 - 0.5)":                   "division by zero",
		"sqrt(-1)":                          "not a real number",
		"9^9^9^9":                           "too large",
		"exp(10000)":                        "too large",
		"x + 1":                             "unknown name",
		"system(1)":                         "unknown function",
		"filter(1..100000000, true)":        "unknown function",
		`"a" * 3`:                           "only numbers",
		"[1, 2]":                            "only numbers",
		"1 == 1":                            "not arithmetic",
		"not true":                          "only numbers",
		"1 +":                               "not an arithmetic expression",
		"":                                  "not an arithmetic expression",
		"let x = 1; x":                      "only numbers",
		"sqrt(1, 2)":                        "does not take 2",
		strings.Repeat("(", 5000):           "longer than",
		"1" + strings.Repeat("0", 400) + "": "",
	} {
		require.Contains(t, k.fails("calculator", map[string]any{"expression": expression}), want, expression)
	}
	deep := strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400)
	require.Equal(t, "1", k.ok("calculator", map[string]any{"expression": deep}))
	// Even the most expensive expression of the maximal length ends quickly.
	k.run("calculator", map[string]any{"expression": strings.Repeat("9999^2490*", 99) + "1"})
}

func TestCurrentTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	k := newKit(t, builtin.Options{Now: func() time.Time { return now }})
	require.Equal(t, "2026-03-01T23:30:00Z (Sunday, UTC)", k.ok("current_time", nil))
	require.Equal(t, "2026-03-02T08:30:00+09:00 (Monday, Asia/Tokyo)", k.ok("current_time", map[string]any{"timezone": "Asia/Tokyo"}))
	for _, zone := range []string{"Mars/Olympus", "../../etc/passwd", "Local"} {
		require.Contains(t, k.fails("current_time", map[string]any{"timezone": zone}), "unknown time zone")
	}
}
