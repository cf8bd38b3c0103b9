package audit

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/exact"
)

// Copy is a trail that was read from a file.
type Copy struct {
	lines    []object.AuditLine
	problems []Problem
}

// Problem says what is wrong with a copy of a trail.
type Problem struct {
	// Line is the line of the file, from 1, at which the problem shows.
	Line int
	// Text says what is wrong.
	Text string
}

// maxLine is the largest size of a line, in bytes. A message of 1 MiB may take six times as much in JSON.
const maxLine = 32 << 20

// Read reads a copy. The error is that of the reader; [Copy.Check] tells what is wrong with the lines.
func Read(r io.Reader) (Copy, error) {
	var c Copy
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	for n := 1; scan.Scan(); n++ {
		var in struct {
			Type string `json:"type"`
			object.AuditLine
		}
		if err := exact.Decode(scan.Bytes(), &in, 0); err != nil {
			c.problems = append(c.problems, Problem{n, fmt.Sprintf("is not a line of an audit trail: %v", err)})
		} else if in.Type != "audit" {
			c.problems = append(c.problems, Problem{n, fmt.Sprintf("has the type %.40q and not \"audit\"", in.Type)})
		}
		c.lines = append(c.lines, in.AuditLine)
	}
	return c, scan.Err()
}

// Scope returns what the trail is about, as its first line says.
func (c Copy) Scope() Scope {
	if len(c.lines) == 0 {
		return Scope{}
	}
	return Scope{ID: c.lines[0].ID, Since: time.Time(c.lines[0].Since)}
}

// Len returns the number of lines, and Hash the hash of the last one.
func (c Copy) Len() int { return len(c.lines) }

// Hash returns the hash of the last line; empty if there is none.
func (c Copy) Hash() string {
	if len(c.lines) == 0 {
		return ""
	}
	return c.lines[len(c.lines)-1].Hash
}

// Check compares the copy with itself: each line with its hash, and with the line before. It returns what is wrong, in the order of the lines.
// A copy whose hashes were all made anew is found only by [Copy.Compare], or by the hash of the last line.
func (c Copy) Check() []Problem {
	problems := slices.Clone(c.problems)
	tell := func(line int, text string, args ...any) {
		problems = append(problems, Problem{line, fmt.Sprintf(text, args...)})
	}
	before := object.AuditLine{}
	for i, l := range c.lines {
		n := i + 1
		all := texts(&l)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if text := *all[name]; text != "" && digest([]byte(text)) != l.Hashes[name] {
				tell(n, "was changed: its field %q does not fit its hash", name)
			}
		}
		if hashOf(l) != l.Hash {
			tell(n, "was changed: it does not fit its hash")
		}
		switch {
		case l.Before != before.Hash && l.Line > before.Line+1:
			tell(n, "does not follow the line before: lines %d to %d of the trail are missing, or were moved", before.Line+1, l.Line-1)
		case l.Before != before.Hash || l.Line != n && before.Line == n-1:
			tell(n, "does not follow the line before: a line was inserted, moved or changed")
		}
		if first := l.Act == trailBegins; first != (i == 0) {
			tell(n, "must be the beginning of the trail, and nothing else may be")
		}
		before = l
	}
	if before.Act != trailEnds {
		tell(len(c.lines), "is not the end of the trail: the end is missing")
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return problems
}

// Compare compares the copy with a trail of the same scope that was made now, of the histories that Temporal still has. It returns what
// is wrong, and the runs whose histories are gone, so that their lines cannot be compared.
func (c Copy) Compare(now []object.AuditLine) (problems []Problem, gone []string) {
	known := map[string]bool{} // the runs that Temporal has
	for _, l := range now {
		if l.Act == historyRead {
			known[l.RunID] = true
		}
	}
	read := map[string]int{} // the last events that the copy says it has
	for _, l := range c.lines {
		if l.Act == historyRead {
			read[l.RunID] = l.Event
			if !known[l.RunID] {
				gone = append(gone, l.RunID)
			}
		}
	}
	truth := map[string][]object.AuditLine{} // by substance
	for _, l := range now {
		if l.Event > 0 && l.Act != historyRead {
			truth[substance(l)] = append(truth[substance(l)], l)
		}
	}
	last := len(c.lines)
	for i, l := range c.lines {
		s := substance(l)
		switch {
		case l.Event == 0 || l.Act == historyRead || !known[l.RunID]:
		case len(truth[s]) == 0:
			problems = append(problems, Problem{i + 1, fmt.Sprintf("is not what event %d of run %s in Temporal says", l.Event, l.RunID)})
		default:
			truth[s] = truth[s][1:]
		}
	}
	for _, l := range now {
		s := substance(l)
		if len(truth[s]) == 0 || !known[l.RunID] || !c.covers(l, read) {
			continue
		}
		truth[s] = truth[s][1:]
		problems = append(problems, Problem{last, fmt.Sprintf("ends a copy without a line %q of event %d of run %s, which is in Temporal", l.Act, l.Event, l.RunID)})
	}
	return problems, gone
}

// skew is how much the clock of Temporal may differ from the one of the machine that has made the copy.
const skew = time.Minute

// covers reports whether the copy must have a line: it says that it has read the event, or the event is older than the copy.
func (c Copy) covers(l object.AuditLine, read map[string]int) bool {
	return l.Event <= read[l.RunID] || len(c.lines) > 0 && time.Time(l.Time).Add(skew).Before(time.Time(c.lines[0].Time))
}
