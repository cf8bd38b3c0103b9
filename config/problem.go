package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Problem is one mistake in a configuration.
type Problem struct {
	// File is the name that was passed to [Load] or [Parse].
	File string
	// Line is the line in the file, counted from 1. 0 means the file as a whole.
	Line int
	// Field is the path of the value, such as `agents.assistant.limits.time`. Empty means the file as a whole.
	Field string
	// Message says what is wrong and what to write instead. What a program wrote may follow on further lines.
	Message string
}

// maxProblem is the largest length of the text of a problem, in characters. There is a limit because the keys in a file may
// have any length.
const maxProblem = 1500

// String returns the problem in one line: file, line, field and message. Control characters are escaped, and a long text is
// cut.
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

// Error has all problems of a configuration, sorted by line.
type Error struct {
	Problems []Problem
}

const maxShown = 100

// Error returns the problems, each on its own line. It lists the first 100 problems and counts the others.
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

// Problem returns a problem of the value with a path, such as `agents.assistant.tools[0]`, with its line in the file. If the file has no such
// value, the line is that of the nearest enclosing value.
func (c *Config) Problem(field, message string) Problem { return c.source.at(field, "%s", message) }

// newError returns an [*Error] with the problems sorted by line; nil if there are none. Problems of the same line keep their order.
func newError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{Problems: problems}
}

// source says on which line each value of a configuration file stands. It maps the path of a value to a line. A [Config] keeps its
// source, so problems that are found after [Parse] also have a line.
type source struct {
	file  string
	lines map[string]int
}

// at makes a problem of the value with this path. If the file has no such value, the problem has the line of the nearest enclosing
// value.
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
