package chat

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// sizes are the sizes of terminals on which people chat.
var sizes = []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 40, Height: 15}}

// A number that is no choice is sent only after a second Enter. Any other text is sent at once.
func TestNumberOfNoChoiceIsAskedAbout(t *testing.T) {
	ask := func(key, question string) *stage {
		s := newStage(t, true)
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForAnswer})
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor(key, agent.AskUser, question, true)})
		return s
	}
	s := ask("q", `{"question":"Which?","choices":["red","blue"]}`)
	s.keys("3", "enter")
	require.Empty(t, s.asked)
	s.shows("3 is not the number of a choice; they go from 1 to 2. Enter sends it", "\n> 3\n")
	s.keys("0", "enter")
	s.shows("30 is not the number of a choice")
	s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("r", agent.AskUser, `{"question":"How many?","choices":["1","2"]}`, true)})
	s.keys("enter")
	require.Empty(t, s.asked, "another question")
	s.keys("enter")
	require.Equal(t, []string{"decide talk r approve=false remember= reason= result=30"}, s.asked)

	for question, sent := range map[string]string{`{"question":"How many?"}`: "7", `{"question":"How many?","choices":["7","14"]}`: "14", `{"question":"Which?","choices":["a"]}`: "7 of them"} {
		s := ask("q", question)
		s.keys(sent, "enter")
		require.Equal(t, []string{"decide talk q approve=false remember= reason= result=" + sent}, s.asked)
	}
}

// A question that was answered stays readable, with its answer: on the screen, and on the terminal after the chat.
func TestAnsweredQuestionIsText(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		answer := result("1", "the second")
		answer.Decider = &agent.Decider{Actor: agent.Actor{By: "kim"}}
		s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: agent.AskUser, Arguments: `{"question":"Which one\nof both?","choices":["the first","the second"]}`}))
		s.shows("▸ Question: Which one of both? …")
		s.says(answer)
		s.shows("▸ Question: Which one\n  of both?\n  → the second\n")
		require.NotContains(t, s.screen(), "{")
		require.Contains(t, s.m.left(false), "▸ Question: Which one\n  of both?\n  → the second\n")
		s.keys("ctrl+o")
		s.shows("▾ Question: Which one\n  of both?\n    1  the first\n    2  the second\n  answered by kim\n  → the second\n")
	}
}

// A question is Markdown, like a reply, while it waits and afterwards. Its title stands in the first column of the text.
func TestQuestionIsMarkdown(t *testing.T) {
	for question, want := range map[string]string{
		"Shall I take **this**?":       "Question: Shall I take this?",
		"# Plan\n\n1. `go`\n2. stay\n": "Question:\n  Plan\n\n  1. go\n  2. stay",
		"```\na  b\n```":               "Question:\n    a  b",
	} {
		s := newStage(t, true)
		arguments := fmt.Sprintf(`{"question":%q,"choices":["yes","no"]}`, question)
		s.says(user("go"), reply("", llm.ToolCall{ID: "1", Name: agent.AskUser, Arguments: arguments}))
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForAnswer})
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", agent.AskUser, arguments, true)})
		require.Contains(t, spaces.ReplaceAllString(s.screen(), "\n"), "? "+want+"\n    1  yes\n")
		s.m.refreshed(client.Snapshot{}, nil, nil)
		s.says(result("1", "yes"))
		require.Contains(t, spaces.ReplaceAllString(s.screen(), "\n"), "▸ "+want+"\n  → yes\n")
	}
}

// If the question or some of its choices are above the screen, the line about the keys says how to see them.
func TestLongListOfChoicesCanBeScrolled(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForAnswer})
		choices := strings.Repeat(`"x",`, 60)
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("q", agent.AskUser, `{"question":"Which?","choices":[`+strings.TrimSuffix(choices, ",")+`]}`, true)})
		s.shows("60  x", "Enter answers", "PgUp PgDn show all of it")
		s.keys("home")
		s.shows("? Question: Which?", "PgUp PgDn show all of it")
		s.m.refreshed(client.Snapshot{}, nil, []client.Waits{waitsFor("r", agent.AskUser, `{"question":"Which?","choices":["x"]}`, true)})
		s.keys("end")
		require.NotContains(t, s.screen(), "PgUp")
	}
}

// spaces matches the rest of a line that looks empty.
var spaces = regexp.MustCompile(`[ \x{a0}]*\n`)
