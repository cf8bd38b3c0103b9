package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

const spoken = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen."

func heard(l *list, reports ...PartialText) (text string) {
	for _, p := range reports {
		u := Update{Progress: Progress{Status: Running, PartialText: &p}}
		if err := l.read(&u); err != nil {
			panic(err) // partial text never fails
		}
		for _, e := range u.Events {
			text += e.Text
		}
	}
	return text
}

// Live text is a beginning of the reply, whatever reports were missed. A list without live text has the reply when it is recorded.
func TestLiveTextIsABeginningOfTheReply(t *testing.T) {
	begins := PartialText{Key: "model-1", Text: spoken[:30], Said: 30, Attempt: 1}
	follows := PartialText{Key: "model-1", Text: spoken[20:60], Said: 60, Attempt: 1}
	gap := PartialText{Key: "model-1", Text: spoken[50:60], Said: 60, Attempt: 1}
	for name, reports := range map[string][]PartialText{"all": {begins, follows}, "gap": {begins, gap}, "late": {gap}, "again": {begins, begins}} {
		live, recorded := list{reader: conversation.NewReader(0), live: true}, list{reader: conversation.NewReader(0)}
		shown := heard(&live, reports...)
		require.True(t, strings.HasPrefix(spoken, shown), name)
		require.Equal(t, name == "late", shown == "", name)
		require.Empty(t, heard(&recorded, reports...), name)
		for _, l := range []*list{&live, &recorded} {
			u := Update{Progress: Progress{Message: &agent.Message{Message: llm.Message{Role: llm.Assistant, Content: spoken}, Key: "model-1"}}}
			require.NoError(t, l.read(&u))
			rest := ""
			for _, e := range u.Events {
				rest += e.Text
			}
			if l == &live {
				rest = shown + rest
			}
			require.Equal(t, spoken, rest, name)
		}
	}
}
