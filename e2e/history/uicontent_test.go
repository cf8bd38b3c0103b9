package history_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// `ui: {content: none}` holds for starter and worker, and stays with the agent: a fork that a starter makes without it, on a worker without it,
// shows nothing either. An agent that begins there does.
func TestConfigurationKeepsContentOutOfTheWebUI(t *testing.T) {
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"6*7 /*plum*/"}`)), llmtest.Say("plum-answer"), llmtest.Say("plum again"), llmtest.Say("plum"),
	), nil, "    tools: [calculator]\n")
	options, err := dial.ClientOptions("", "")
	require.NoError(t, err)
	shown := func(id string) string {
		l := &life{World: w, dc: options.DataConverter}
		if l.dc == nil {
			l.dc = converter.GetDefaultDataConverter()
		}
		l.look(id)
		return strings.Join(l.shown, "\n")
	}
	plain, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(string(plain) + "ui: {content: none}\n")
	first := w.Worker()
	w.Must("run", "--id", t.Name(), "a plum")
	require.Contains(t, shown(t.Name()), "calculator")
	require.NotContains(t, shown(t.Name()), "plum")
	require.NotContains(t, w.Must("list", "--json"), "plum")
	first.Terminate()
	w.Eventually("the worker has stopped", first.Ended)

	w.WriteConfig(string(plain))
	w.Worker()
	w.Must("fork", t.Name(), "--id", t.Name()+"-fork", "--message", "another plum")
	require.NotContains(t, shown(t.Name()+"-fork"), "plum")
	w.Must("run", "--id", t.Name()+"-shown", "a third plum")
	require.Contains(t, shown(t.Name()+"-shown"), "a third plum")
}
