package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type summary struct {
	Gate    string         `json:"gate"`
	Commit  string         `json:"commit"`
	Date    string         `json:"date"`
	Took    time.Duration  `json:"took"` // in nanoseconds
	Outcome string         `json:"outcome"`
	Passed  bool           `json:"passed"`
	Figures map[string]int `json:"figures,omitempty"`
	// Again has the commands that run the failed parts again.
	Again []string `json:"again,omitempty"`

	gate gate
}

// `begun` is false if none of the parts has a result.
func conclude(w *workspace, s *state, g gate, parts []part, contents []string) (total summary, begun bool) {
	total = summary{Gate: g.name, Commit: w.described(), Figures: map[string]int{}, gate: g}
	var newest time.Time
	repaired, open := 0, 0
	for i, p := range parts {
		r, failures, ok := s.of(g, p, contents[i])
		if !ok {
			open++
			continue
		}
		total.Took += r.Took
		if r.Began.After(newest) {
			newest = r.Began
		}
		for name, n := range r.Figures {
			total.Figures[name] += n
		}
		switch {
		case !r.Passed:
			total.Again = append(total.Again, r.Command)
		case failures > 0:
			repaired++
		}
	}
	total.Date, total.Passed = newest.UTC().Format(time.DateOnly), len(total.Again) == 0 && open == 0
	switch {
	case len(total.Again) > 0:
		total.Outcome = fmt.Sprintf("FAILED: %d of %d parts", len(total.Again), len(parts))
	case open > 0:
		total.Outcome = fmt.Sprintf("stopped; %d of %d parts have passed", len(parts)-open, len(parts))
	case repaired > 0:
		total.Outcome = fmt.Sprintf("passed; %d of %d parts only when they ran again", repaired, len(parts))
	default:
		total.Outcome = "passed"
	}
	return total, open < len(parts)
}

func (s summary) figures() string {
	var all []string
	for _, f := range s.gate.figures {
		all = append(all, fmt.Sprint(f.name, " ", s.Figures[f.name]))
	}
	return strings.Join(all, ", ")
}

// row returns the line of the [table]. A failed gate names the first command that shows the failure.
func (s summary) row() string {
	outcome := s.Outcome
	if len(s.Again) > 0 {
		outcome += ", `" + s.Again[0] + "`"
	}
	cells := []string{s.Gate, s.Commit, s.Date, s.Took.Round(time.Second).String(), outcome, s.figures()}
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

const heading = "| gate | commit | date | duration | outcome | figures |\n|---|---|---|---|---|---|\n"

// record writes the row of a gate to the [table]. The rows of other gates, and the text around the table, stay as they are.
func record(w *workspace, s summary) error {
	path := filepath.Join(w.dir, table)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte("# Gates\n\n" + heading)
	} else if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(heading))
	if !found {
		return fmt.Errorf("%s: the file has no table with the heading %q; restore it, or remove the file", table, strings.SplitN(heading, "\n", 2)[0])
	}
	rows := map[string]string{s.Gate: s.row()}
	after := ""
	for line := range strings.Lines(string(rest)) {
		name, isRow := strings.CutPrefix(line, "| ")
		if name, _, _ = strings.Cut(name, " "); !isRow || after != "" {
			after += line
		} else if name != s.Gate {
			rows[name] = strings.TrimSuffix(line, "\n")
		}
	}
	var b strings.Builder
	b.Write(before)
	b.WriteString(heading)
	order := func(name string) int {
		return slices.IndexFunc(gates, func(g gate) bool { return g.name == name })
	}
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return order(a) - order(b) }) {
		b.WriteString(rows[name] + "\n")
	}
	b.WriteString(after)
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
