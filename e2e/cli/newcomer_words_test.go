package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// If no agent has the given ID, every command about an agent fails at once with the same error. It needs no worker for
// this.
func TestNewcomerMistypesAnID(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	for _, line := range []string{"show nope", "show --all --json nope", "tail nope", "send nope Hello", "resume nope", "fork nope", "close nope", "cancel nope", "upgrade nope", "rm --yes nope", "chat nope", "chat --task-queue other nope"} {
		out, errs, code := w.Starter(strings.Fields(line)...)
		require.Equal(t, 4, code, "%s: %s", line, errs)
		require.Empty(t, out, line)
		require.Equal(t, 1, strings.Count(errs, "\n"), "%s: %s", line, errs)
		require.Contains(t, strings.ReplaceAll(errs, `\"`, `"`), "there is no agent with ID \"nope\": `starter list` shows the agents", line)
		if strings.HasPrefix(line, "chat") {
			require.Contains(t, errs, "`starter chat nope -a NAME` starts a new agent with this ID")
		}
	}
}
