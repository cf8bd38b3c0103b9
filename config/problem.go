package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// File is the name under which the configuration was read.
	File string
	// Line counts from 1; 0 means the file as a whole.
	Line int
	// Field is the path of the value, such as agents.assistant.limits.time.
	// Empty means the file as a whole.
	Field string
	// Message says what is wrong and what to write instead.
	Message string
}

// maxProblem bounds the text of a problem, in characters: a file may have keys of any length.
const maxProblem = 1000

// String is the problem in one line: file, line, field and message. Control characters of keys and values are escaped.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	return printable.Line(b.String(), maxProblem)
}

// Error holds every problem that was found, sorted by line.
type Error struct {
	Problems []Problem
}

// maxShown is the number of problems that one error lists.
const maxShown = 100

// Error gives each problem a line of its own, and counts those after the first
// hundred.
func (e *Error) Error() string {
	var lines []string
	for i, p := range e.Problems {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-i))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// newError sorts the problems; nil when there is none. Problems of one line
// stay in the order in which they were found.
func newError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{Problems: problems}
}

// source remembers where values stood, so that what is found out later, on the
// worker, can be told as precisely as what Parse finds.
type source struct {
	file  string
	lines map[string]int
}

// at makes a problem with the value at path. A value that is not in the file
// has the line of the nearest value that should hold it.
func (s source) at(path, format string, args ...any) Problem {
	p := Problem{File: s.file, Field: path, Message: fmt.Sprintf(format, args...)}
	for parent := path; ; {
		if line, ok := s.lines[parent]; ok {
			p.Line = line
			return p
		}
		if parent == "" {
			return p
		}
		parent = parent[:max(0, strings.LastIndexAny(parent, ".["))]
	}
}
