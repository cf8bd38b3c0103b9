package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// Agents have been idle, and the only worker is a new one that has none of them in memory. Every starter command about
// such an agent works as its help says.
func TestNewcomerComesBackAfterIdle(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	first := w.Worker()
	commands := []struct {
		command      string // the first word is also the end of the agent's ID; "ID" stands for the ID
		says, status string
		code         int
	}{
		{"list --waiting --limit 0", "ID", "waiting", 0},
		{"show ID", "> hello\nreply 1\n", "waiting", 0},
		{"run --chat --id ID hello", "> hello\nreply 1\n", "waiting", 0},
		{"send ID two", "reply 2\n", "waiting", 0},
		{"resume ID", "> hello\nreply 1\n", "waiting", 0},
		{"fork ID --id ID-new --message two", "> two\nreply 2\n", "waiting", 0},
		{"reload ID", "has its new definition", "waiting", 0},
		{"upgrade ID", "goes on in run", "waiting", 0},
		{"close ID", "", "completed", 0},
		{"cancel ID", "", "cancelled", 0},
		{"rm ID", "", "waiting", 4},
	}
	id := func(command string) string { return t.Name() + "-" + strings.Fields(command)[0] }
	for _, c := range commands {
		w.Must("run", "--chat", "--id", id(c.command), "hello")
	}
	first.Kill()
	w.Worker()
	for _, c := range commands {
		agent := id(c.command)
		out, errs, code := w.Starter(strings.Fields(strings.ReplaceAll(c.command, "ID", agent))...)
		require.Equal(t, c.code, code, "%s: %s%s", c.command, out, errs)
		require.Contains(t, out+errs, strings.ReplaceAll(c.says, "ID", agent), c.command)
		w.Ends(agent, c.status)
	}
	tail := w.Start("starter", "tail", "--json", id("show"))
	says(w, tail, `"status":"waiting"`)
	w.Must("cancel", id("show"))
	w.Eventually("tail ends with the agent", tail.Ended)
	require.Zero(t, tail.Cmd.ProcessState.ExitCode(), tail.Output())
	w.NothingTwice()
}
