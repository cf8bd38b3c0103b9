package progress

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// terminal emulates a terminal. It understands the control sequences of the preview and fails the test for all others.
type terminal struct {
	t             *testing.T
	width, height int
	rows          [][]rune
	row, column   int
}

func newTerminal(t *testing.T, width, height int) *terminal {
	return &terminal{t: t, width: width, height: height, rows: [][]rune{nil}}
}

func (s *terminal) size() (width, height int) { return s.width, s.height }

func (s *terminal) Write(p []byte) (int, error) {
	for rest := []rune(string(p)); len(rest) > 0; {
		if rest[0] == 0x1b {
			rest = s.sequence(rest)
			continue
		}
		s.put(rest[0])
		rest = rest[1:]
	}
	return len(p), nil
}

// sequence carries out the control sequence at the beginning of text and returns the rest.
func (s *terminal) sequence(text []rune) (rest []rune) {
	require.Greater(s.t, len(text), 2)
	require.Equal(s.t, '[', text[1])
	n, at := 0, 2
	for ; text[at] >= '0' && text[at] <= '9'; at++ {
		n = n*10 + int(text[at]-'0')
	}
	switch text[at] {
	case 'A':
		require.Positive(s.t, n)
		s.row -= n
		require.GreaterOrEqual(s.t, s.row, max(0, len(s.rows)-s.height), "what has left the screen cannot be reached")
	case 'J':
		s.rows = s.rows[:s.row+1]
		s.rows[s.row] = s.rows[s.row][:min(s.column, len(s.rows[s.row]))]
	case 'm':
	default:
		require.Failf(s.t, "an unknown sequence", "%q", string(text[:at+1]))
	}
	return text[at+1:]
}

func (s *terminal) put(r rune) {
	switch r {
	case '\n':
		s.down()
	case '\r':
		s.column = 0
	default:
		require.False(s.t, r < ' ' || r >= 0x7f && r <= 0x9f, "%q would drive a terminal", r)
		if s.column == s.width {
			s.down()
		}
		for len(s.rows[s.row]) <= s.column {
			s.rows[s.row] = append(s.rows[s.row], ' ')
		}
		s.rows[s.row][s.column] = r
		s.column++
	}
}

func (s *terminal) down() {
	s.row, s.column = s.row+1, 0
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

// narrow makes the terminal narrower and breaks the lines that do not fit any more.
func (s *terminal) narrow(width int) {
	require.Equal(s.t, len(s.rows)-1, s.row)
	var all [][]rune
	for _, row := range s.rows {
		for len(row) > width {
			all, row = append(all, row[:width]), row[width:]
		}
		all = append(all, row)
	}
	s.width, s.rows, s.row = width, all, len(all)-1
	s.column = len(all[s.row])
}

// text returns all lines of the terminal, including those that have scrolled away.
func (s *terminal) text() string {
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.Join(lines, "\n")
}
