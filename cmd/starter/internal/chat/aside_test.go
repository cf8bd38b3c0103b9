package chat

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
)

func TestQuestionAsideIsNoPartOfTheConversation(t *testing.T) {
	s := newStage(t, true)
	s.says(user("go"))
	s.report(working)
	s.answer = "I **read**.\n> no message"
	s.m.stale = false
	s.keys("/aside what do", "ctrl+j", "you do?", "enter")
	require.Equal(t, []string{"aside talk: what do\nyou do?"}, s.asked)
	s.shows("~ aside: what do\n~ you do?\n    I read.\n\n    | no message\n  The question and the answer are not part of the conversation.")
	require.True(t, s.m.stale, "the cost is read again")
	s.fail = errors.New("the agent has used up\n> its cost")
	s.keys("/aside more", "enter")
	s.shows("~ aside: more\n  The question was not answered.\n    the agent has used up\n    > its cost")
	s.unreachable, s.fail = 1, nil
	s.keys("/aside again", "enter")
	s.shows("~ aside: again\n  The question was not answered.\n    no worker answers")
	s.keys("/aside", "enter")
	s.shows("Not done: /aside takes a question", "> /aside\n")
	require.Equal(t, []string{"go"}, s.m.people())
	require.Len(t, s.asked, 2)

	s = newStage(t, false)
	s.keys("/aside what", "enter")
	s.shows("Not done: there is no agent yet", "> /aside what")
	s.m.snap = client.Snapshot{}
	s.m.snap.Usage.Asides = 2
	require.Contains(t, costText(s.m.snap), "2 questions aside")
}
