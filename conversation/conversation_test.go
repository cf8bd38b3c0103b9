package conversation_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

func FuzzPiecesStayAsTheTextGrows(f *testing.F) {
	for _, text := range []string{"", "one two three four five six seven", strings.Repeat("x", 300), strings.Repeat("ä", 100), "a \n\n b\t" + strings.Repeat(" ", 90), "\xff\xfe bad \ufffd bytes and more of them"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		all := slices.Collect(conversation.Pieces(text))
		require.Equal(t, text, strings.Join(all, ""))
		for _, piece := range all {
			require.NotEmpty(t, piece)
			require.LessOrEqual(t, len(piece), 64)
			require.True(t, !utf8.ValidString(text) || utf8.ValidString(piece))
		}
		cut = max(0, min(cut, len(text)))
		r := conversation.NewReader(0)
		shown := ""
		for _, e := range r.Partial("model-1", text[:cut]) {
			require.Equal(t, all[e.Position.Number], e.Text, "a piece that was shown stays")
			shown += e.Text
		}
		m := agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}, Key: "model-1"}
		events, err := r.Message(&m)
		require.NoError(t, err)
		for _, e := range events[:len(events)-1] {
			require.Equal(t, all[e.Position.Number], e.Text)
			shown += e.Text
		}
		require.Equal(t, text, shown)
		require.Equal(t, conversation.Answer, events[len(events)-1].Kind)
	})
}

var transcript = []agent.Message{
	{Message: llm.Message{Role: llm.User, Content: "Order plums."}, Key: "m1"},
	{Message: llm.Message{Role: llm.Assistant, Content: "I look and order.", ToolCalls: []llm.ToolCall{{ID: "a", Name: "find"}, {ID: "b", Name: "order"}}}, Key: "model-1"},
	{Message: llm.Message{Role: llm.Tool, Content: "found", ToolCallID: "a"}, Key: "tool-1"},
	{Message: llm.Message{Role: llm.Tool, Content: "ordered", ToolCallID: "b"}, Key: "tool-2", Waited: []agent.Waited{{For: agent.WaitsForApproval, Key: "tool-2", Round: 1}, {For: agent.WaitsForResult, Key: "tool-2", Round: 2}}},
	{Message: llm.Message{Role: llm.User, Content: "Hurry."}, Key: "m2", Steer: true},
	{Message: llm.Message{Role: llm.Assistant, Content: "Done."}, Key: "model-2"},
	{Message: llm.Message{Role: llm.User, Content: "late"}, Key: agent.KindLate + "-1"},
}

func kinds(events []conversation.Event) (all []conversation.Kind) {
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func TestListOfATranscript(t *testing.T) {
	all := conversation.Of(0, transcript, nil)
	require.Equal(t, []conversation.Kind{
		conversation.Message, conversation.Text, conversation.Reply, conversation.Asked, conversation.Asked, conversation.Waits, conversation.Waits,
		conversation.Result, conversation.Result, conversation.Message, conversation.Text, conversation.Answer, conversation.LateResult,
	}, kinds(all))
	require.Equal(t, conversation.Position{Message: 3}, all[8].Position)
	require.Equal(t, conversation.Position{Message: 6}, all[12].Position)
	require.Equal(t, "model-1/1", all[5].Call.String())
	require.True(t, all[0].Begins())
	require.False(t, all[9].Begins())
}

// While calls are open, their waits come with the rounds in which they began, and before all results.
func TestListGrowsByWaits(t *testing.T) {
	whole := conversation.Of(0, transcript, nil)
	r := conversation.NewReader(0)
	var list []conversation.Event
	for i := range transcript[:2] {
		events, err := r.Message(&transcript[i])
		require.NoError(t, err)
		list = append(list, events...)
	}
	require.Equal(t, 2, r.Index())
	waited := transcript[3].Waited
	for n := range 3 {
		open := []agent.Call{{Model: "model-1", Position: 1, Waited: waited[:n]}}
		list = append(list, r.Open(open)...)
		require.Empty(t, r.Open(open))
		require.Equal(t, whole[:5+n], list)
	}
	for i := range transcript[2:] {
		events, err := r.Message(&transcript[2+i])
		require.NoError(t, err)
		list = append(list, events...)
		require.Equal(t, 3+i, r.Index())
	}
	require.Equal(t, whole, list)
}

// A reader that was shown text of a lost attempt is told so, unless the reply has the same beginning.
func TestLostText(t *testing.T) {
	long := "These words were shown to the reader, and then the worker was lost."
	reply := func(text string) *agent.Message {
		return &agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}, Key: "model-1"}
	}
	r := conversation.NewReader(0)
	require.NotEmpty(t, r.Partial("model-1", long))
	require.Empty(t, r.Partial("model-1", "Other words of the next attempt, which is a long text, too."))
	_, err := r.Message(reply("Other words of the next attempt, which is a long text, too."))
	require.ErrorIs(t, err, conversation.ErrLostText)

	r = conversation.NewReader(0)
	require.NotEmpty(t, r.Partial("model-1", long))
	events, err := r.Message(reply(long + " And then it came again."))
	require.NoError(t, err)
	require.NotEmpty(t, events)

	r = conversation.NewReader(0)
	require.Empty(t, r.Partial("model-1", "short"), "a piece that is not certain is not shown")
	_, err = r.Message(reply("another"))
	require.NoError(t, err)
}
