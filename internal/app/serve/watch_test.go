package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/redact"
)

// A changed configuration is taken once, when nobody writes it any more. With mistakes, the worker keeps what it had, and says so once. A
// file that has disappeared for a moment is such a mistake.
func TestWatchTakesEachConfigurationOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	const queue = "task_queue: q\n"
	valid := func(instructions string) string {
		return "models: {main: {model: m, base_url: \"http://127.0.0.1:1\"}}\nagents: {x: {model: main, instructions: " + instructions + "}}\n"
	}
	write(queue + valid("one"))
	o := Options{Stateful: "all", Dev: true}
	cfg, err := load(path, o)
	require.NoError(t, err)

	var out bytes.Buffer
	var given []string
	var refusal error
	w := newWatch(&agentWorker{cfg: cfg}, path, o, redact.New("hunter2hunter2"), &out)
	w.reconfigure = func(_ context.Context, o reagent.Options) (reagent.Reconfigured, error) {
		if refusal != nil {
			return reagent.Reconfigured{}, refusal
		}
		require.True(t, o.Development)
		given = append(given, o.TaskQueue+" "+o.Agents[0].Instructions)
		return reagent.Reconfigured{Changed: []string{"x"}}, nil
	}
	w.reload = func(_ context.Context, selected func(agents.Entry) bool, tell func(string)) {
		tell(fmt.Sprint("asks x: ", selected(agents.Entry{Agent: "x"}), ", y: ", selected(agents.Entry{Agent: "y"})))
	}
	look := func() string {
		for range 3 {
			w.look(t.Context())
		}
		defer out.Reset()
		return out.String()
	}

	require.Empty(t, look())
	write("agents:")
	w.look(t.Context()) // it is being written
	write(queue + valid("two"))
	require.Equal(t, path+" has changed; new definition: x\nasks x: true, y: false\n", look())
	require.Equal(t, []string{"q two"}, given)

	write("agents: {x: {modle: hunter2hunter2}}\n")
	require.Contains(t, look(), "has changed and cannot be used; the worker goes on with what it had:\n"+path+":1: ")
	require.Empty(t, look(), "once")
	write(queue + valid("one, tools: [nosuch]"))
	require.Contains(t, look(), "nosuch")
	require.Len(t, given, 1)
	require.NoError(t, os.Remove(path))
	require.Contains(t, look(), "there is no configuration file")
	write(queue + valid("two"))
	require.NotContains(t, look(), "cannot be used")

	refusal = errors.New("the server hunter2hunter2 does not answer")
	write(queue + valid("three"))
	require.Equal(t, path+" has changed and cannot be used; the worker goes on with what it had:\nthe server [hidden] does not answer\n", look())
	require.Empty(t, look(), "it is not tried again before the file changes")
	refusal = nil
	write("task_queue: another\n" + valid("three"))
	require.Contains(t, look(), "Restart the worker to use what has changed in task_queue\n")
	require.Equal(t, "q three", given[len(given)-1])
}
