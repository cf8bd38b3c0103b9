package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// The number of a choice stands for the choice. A text that is a choice itself stands for itself, also if it is the number of another one.
func TestNumberOfAChoiceIsTheChoice(t *testing.T) {
	colours, numbers := agent.Question{Choices: []string{"red", "blue"}}, agent.Question{Choices: []string{"2", "4"}}
	for _, c := range []struct {
		q          agent.Question
		text, want string
	}{
		{colours, "1", "red"}, {colours, " 2\n", "blue"}, {colours, "3", "3"}, {colours, "0", "0"}, {colours, "01", "01"}, {colours, "blue", "blue"},
		{colours, "1 of them", "1 of them"}, {numbers, "2", "2"}, {numbers, "1", "2"}, {agent.Question{}, "1", "1"},
	} {
		require.Equal(t, c.want, c.q.Answer(c.text), c.text)
	}
}
