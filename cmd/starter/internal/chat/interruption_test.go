package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

func userAt(text string, at int64) agent.Message {
	m := user(text)
	m.Time = at
	return m
}

// A chat that comes back to an agent shows where its turns were interrupted, once for each, and before or after it has read the messages.
func TestInterruptionThatIsOverIsShown(t *testing.T) {
	snap := client.Snapshot{Interrupts: []time.Time{time.UnixMilli(2000), time.UnixMilli(2100), time.UnixMilli(9000)}}
	for _, first := range []bool{true, false} {
		s := newStage(t, true)
		if first {
			s.m.refreshed(snap, nil, nil)
		}
		s.says(userAt("one", 1000), userAt("two", 3000), reply("yes"), userAt("three", 4000))
		s.report(idle)
		for range 2 {
			s.m.refreshed(snap, nil, nil)
		}
		s.shows("> one\n\nInterrupted here.\n\n> two\n\n  yes\n\n> three")
		require.Equal(t, 1, strings.Count(s.screen(), "Interrupted"), "the newest one is not over")
		s.report(client.Progress{Rewound: true, Index: 1})
		require.NotContains(t, s.screen(), "Interrupted here")
	}
}

// A chat that has seen the interruption says so only once.
func TestInterruptionThatWasSeenIsNotRepeated(t *testing.T) {
	s := newStage(t, true)
	s.says(userAt("one", 1000))
	s.report(working)
	s.keys("esc")
	s.report(client.Progress{Status: client.Held, WaitsFor: client.WaitsForMessage})
	s.m.refreshed(client.Snapshot{Interrupts: []time.Time{time.UnixMilli(2000)}}, nil, nil)
	s.says(userAt("two", 3000))
	s.report(working)
	s.shows("> one\n\nInterrupted. The next message goes on from here.\n\n> two")
	require.NotContains(t, s.screen(), "Interrupted here")
}
