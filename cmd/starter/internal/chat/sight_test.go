package chat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/proposal"
)

// A sight has seen exactly the positions of its parts, however these overlap.
func TestSightHasSeenWhatWasShown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var s sight
		var shown [20]bool
		for range r.IntN(8) {
			part := span{r.IntN(20), r.IntN(20)}
			s.see(part)
			for at := part.from; at < part.to; at++ {
				shown[at] = true
			}
		}
		missing := slices.Index(append(shown[:], false), false)
		require.Equal(t, missing, s.missing(), "%v", s.seen)
		for i, part := range s.seen {
			require.True(t, part.from < part.to && (i == 0 || s.seen[i-1].to < part.from), "%v", s.seen)
		}
	}
}

// wordyCall is a call each line of which has its own word, so that a test can read from the screen which of them were there.
type wordyCall struct {
	client.Waits
	// folded and full are the words of the call with and without parts left out. The last folded word is the size of what is left out.
	folded, full []string
}

func newWordyCall(r *rand.Rand, n int) wordyCall {
	var lines []string
	c := wordyCall{full: []string{fmt.Sprintf("May tool%dx", n)}}
	for i := range []int{1, 2, 5, 30, 60, 120}[r.IntN(6)] {
		word := fmt.Sprintf("w%dx%dz", n, i)
		c.full = append(c.full, word)
		lines = append(lines, word+strings.Repeat(" fill", r.IntN(20)))
	}
	content, err := json.Marshal(map[string]string{"content": strings.Join(lines, "\n")})
	if err != nil {
		panic(err)
	}
	c.Waits = waitsFor(fmt.Sprintf("k-0000000%d", n), fmt.Sprintf("tool%dx", n), string(content), false)
	begin, left := proposal.Of(c.Call.Name, c.Call.Arguments).Short("")
	for _, word := range c.full {
		if strings.Contains("May "+c.Call.Name+begin.String(), word) {
			c.folded = append(c.folded, word)
		}
	}
	if words := strings.Fields(left); len(words) > 1 {
		c.folded = append(c.folded, words[len(words)-2])
	}
	return c
}

// Whatever a person does before: y and a approve only a call all of whose lines have been on the screen, up to the last one, or up to the line
// that says how much is left out.
func TestKeyApprovesOnlyWhatWasOnTheScreen(t *testing.T) {
	approved := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newStage(t, true)
		for i := range r.IntN(40) {
			s.says(user(fmt.Sprint("message ", i)))
		}
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
		calls := map[agent.Key]wordyCall{}
		var waits []client.Waits
		for n := range 1 + r.IntN(3) {
			c := newWordyCall(r, n)
			calls[c.Call.Key], waits = c, append(waits, c.Waits)
		}
		s.m.refreshed(client.Snapshot{}, nil, waits)
		seen := map[string]bool{}
		var steps []string
		do := func(step string) {
			switch step {
			case "resize":
				s.event(tea.WindowSizeMsg{Width: 30 + r.IntN(80), Height: 6 + r.IntN(40)})
			case "note":
				s.m.note("something has happened")
				s.event(nil)
			case "ready":
				s.ready()
			case "decide":
				s.event(pressedMsg{s.m.pressed})
			default:
				s.keys(step)
			}
			screen := s.screen()
			for _, c := range calls {
				for _, word := range slices.Concat(c.folded, c.full) {
					seen[word] = seen[word] || strings.Contains(screen, word)
				}
			}
			steps = append(steps, step)
		}
		do("ready")
		for len(s.m.waits) > 0 && len(steps) < 150 {
			step := []string{"y", "y", "y", "a", "pgdown", "pgdown", "pgup", "home", "end", "tab", "shift+tab", "ctrl+o", "resize", "resize", "note"}[r.IntN(15)]
			do("ready")
			do(step)
			p := s.m.pressed
			if p == nil {
				continue
			}
			c, before := calls[p.verdict.on.Call.Key], len(s.asked)
			unseen := func(word string) bool { return !seen[word] }
			if slices.ContainsFunc(c.full, unseen) {
				require.False(t, slices.ContainsFunc(c.folded, unseen), "seed %d: %v", seed, steps)
			}
			do("decide")
			require.Len(t, s.asked, before+1)
			approved++
		}
	}
	require.Greater(t, approved, 80, "the keys approve")
}

// askingLong returns a chat whose conversation is longer than the screen, and in which a call with the lines "line 0" to "line 35" waits.
func askingLong(t *testing.T) *stage {
	s := newStage(t, true)
	for i := range 30 {
		s.says(user(fmt.Sprint("message ", i)))
	}
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	var content strings.Builder
	for i := range 36 {
		fmt.Fprintf(&content, `line %d\n`, i)
	}
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("k-00000001", "write", `{"content":"`+content.String()+`"}`, false)})
	s.ready()
	return s
}

// A key that comes too early goes on by a page, says why it has not decided, and never goes back to the first line.
func TestEarlyKeyGoesOnToTheEndOfTheCall(t *testing.T) {
	s := askingLong(t)
	s.shows("? May write run", "line 18\n", "y shows more of this call, and approves it at its end · n deny")
	s.press("y")
	s.shows("line 35\n", "Not decided: part was unseen")
	require.NotContains(t, s.screen(), "May write run")
	s.press("y")
	require.Empty(t, s.asked, "the lines were shown just now")
	s.ready()
	s.keys("end", "pgup", "end")
	s.shows("line 35\n", "y approve write · n deny")
	s.press("y")
	require.Len(t, s.asked, 1)

	s = askingLong(t)
	s.event(tea.WindowSizeMsg{Width: 80, Height: 14})
	s.keys("end")
	s.press("y")
	s.shows("line 18\n", "line 28\n", "Not decided")
	require.Empty(t, s.asked, "lines before the last ones have not been shown")
	s.ready()
	s.keys("n", "enter")
	require.Len(t, s.asked, 1, "a denial needs no look at all lines")
}

// After another size of the terminal, the call that waits is on the screen, with the same line at the top.
func TestCallStaysOnTheScreenAtAnotherSize(t *testing.T) {
	s := askingLong(t)
	s.event(tea.WindowSizeMsg{Width: 40, Height: 15})
	s.shows("? May write run")
	s.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.press("y")
	top, _, _ := strings.Cut(s.screen(), "\n")
	for _, size := range []tea.WindowSizeMsg{{Width: 40, Height: 15}, {Width: 30, Height: 8}, {Width: 80, Height: 15}} {
		s.event(size)
		require.True(t, strings.HasPrefix(s.screen(), top+"\n"), s.screen())
		s.m.note("something has happened")
		s.event(nil)
		require.True(t, strings.HasPrefix(s.screen(), top+"\n"), s.screen())
	}
}
