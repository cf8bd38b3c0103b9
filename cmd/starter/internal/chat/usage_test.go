package chat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The model of an agent is chosen before its first message, because an agent keeps its model.
func TestModelIsChosenBeforeTheFirstMessage(t *testing.T) {
	s := newStage(t, false)
	s.keys("/model best", "enter")
	s.shows("The new agent is to use the model best.")
	require.Equal(t, "best", s.m.o.Start.Overrides.Model)
	s.keys("hello", "enter")
	s.keys("/model cheap", "enter")
	s.shows("Not done: an agent keeps its model; `starter rerun talk --model cheap` begins")
	require.Equal(t, []string{"start talk: hello"}, s.asked)
}
