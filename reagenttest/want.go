package reagenttest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
)

// update is the flag -update, unless a package that is imported by this one has it already.
var update = boolFlag("update", "write what the tests of reagenttest see into their golden files")

func boolFlag(name, usage string) func() bool {
	if flag.Lookup(name) == nil {
		flag.Bool(name, false, usage)
	}
	return func() bool { return flag.Lookup(name).Value.String() == "true" }
}

// WantAnswer requires that the agent has answered with this text: a task has completed with it, and in a chat it is the last answer.
func (a *Agent) WantAnswer(text string) *Agent {
	a.agents.t.Helper()
	view := a.view()
	if view.Status != agent.Completed && (view.Status != agent.Waiting || view.WaitsFor != agent.WaitsForMessage) {
		a.agents.t.Fatalf("reagenttest: %s has not answered: %s\n%s", a.id, a.state(), a.Text())
	}
	if said := a.Said(); said != text {
		a.agents.t.Fatalf("reagenttest: %s answered\n  %q\nand not\n  %q\n%s", a.id, said, text, a.state())
	}
	return a
}

// WantCalls requires that the model has asked for exactly these calls, in this order. Each is a name, which stands for a call with any
// arguments, or a name and the arguments, as in `price {"name":"cherry"}`.
func (a *Agent) WantCalls(calls ...string) *Agent {
	a.agents.t.Helper()
	a.want("the calls are", a.Calls(), calls)
	return a
}

// WantWaits requires that exactly these calls wait for somebody outside. They are written as for [Agent.WantCalls].
func (a *Agent) WantWaits(calls ...string) *Agent {
	a.agents.t.Helper()
	var waiting []MadeCall
	for _, c := range a.Waits() {
		waiting = append(waiting, MadeCall{Name: c.Name, Arguments: c.Arguments})
	}
	a.want("the calls that wait are", waiting, calls)
	return a
}

func (a *Agent) want(what string, made []MadeCall, calls []string) {
	a.agents.t.Helper()
	same := slices.EqualFunc(made, calls, func(c MadeCall, want string) bool { return want == c.Name || want == c.String() })
	if !same {
		var texts []string
		for _, c := range made {
			texts = append(texts, c.String())
		}
		a.agents.t.Fatalf("reagenttest: %s: %s\n%s\nand not\n%s\n%s", a.id, what, indented(texts), indented(calls), a.state())
	}
}

// Golden requires that the transcript is that of a file, as [Agent.Text] writes it. With `go test -update`, it writes the file; read the
// difference afterwards. The path is relative to the folder of the test.
func (a *Agent) Golden(file string) *Agent {
	a.agents.t.Helper()
	text := a.Text()
	if update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			a.agents.t.Fatalf("reagenttest: %v", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			a.agents.t.Fatalf("reagenttest: %v", err)
		}
		return a
	}
	stored, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		a.agents.t.Fatalf("reagenttest: there is no golden file %s: run the test with -update, and read the file", file)
	}
	if err != nil {
		a.agents.t.Fatalf("reagenttest: %v", err)
	}
	if want := strings.ReplaceAll(string(stored), "\r\n", "\n"); want != text {
		line, had, has := firstDifference(want, text)
		a.agents.t.Fatalf("reagenttest: the transcript of %s differs from %s in line %d:\n- %s\n+ %s\nIf this is right, run the test with -update",
			a.id, file, line, had, has)
	}
	return a
}

// firstDifference returns the number of the first line in which two texts differ, and the two lines.
func firstDifference(a, b string) (line int, inA, inB string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		inA, inB = "(end)", "(end)"
		if i < len(as) {
			inA = as[i]
		}
		if i < len(bs) {
			inB = bs[i]
		}
		if inA != inB {
			return i + 1, inA, inB
		}
	}
	return 0, "", ""
}

func indented(lines []string) string {
	if len(lines) == 0 {
		return "  (none)"
	}
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return strings.Join(lines, "\n")
}
