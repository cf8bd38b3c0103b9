package activities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// told is a Streamer that records the chunks.
type told []string

func (k *told) Stream(p activities.Chunk) {
	*k = append(*k, fmt.Sprintf("%s %s %d %s%s", p.AgentID, p.Key, p.Attempt, p.Delta.Text, p.End))
}

// The last chunk of each attempt says whether the attempt is committed or discarded. There are no chunks of summaries.
func TestPiecesEndWithTheFateOfTheirAttempt(t *testing.T) {
	cut := true
	var heard told
	s := newStageWith(t, llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		llm.Stream(ctx)(llm.Delta{Text: "Hello"})
		if cut {
			return llm.Reply{}, &llm.Error{Class: llm.Connection, Message: "cut"}
		}
		return llmtest.Say("Hello"), nil
	}), func(o *activities.Options) { o.Streamer = &heard })
	s.say(llm.User, "go")
	_, err := s.ask(s.input(1))
	require.Error(t, err)
	who := "default-test-workflow-id " + string(s.named.key)
	require.Equal(t, told{who + " 1 Hello", who + " 1 void"}, heard)

	heard, cut = nil, false
	s.SetHeartbeatDetails(protocol.Progress{Tried: 1})
	_, err = s.ask(s.input(1))
	require.NoError(t, err)
	require.Equal(t, told{who + " 2 Hello", who + " 2 whole"}, heard)

	heard = nil
	s.say(llm.User, "on")
	summary := s.input(1)
	summary.Compact = true
	_, err = s.ask(summary)
	require.NoError(t, err)
	require.Empty(t, heard)
}
