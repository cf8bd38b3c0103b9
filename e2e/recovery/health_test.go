package recovery_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A worker is ready when it serves, not while Temporal is out of reach, and again afterwards. After SIGTERM it is not ready while it drains,
// but lives.
func TestWorkerAnswersProbes(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "paid", g.Pass(ctx) })
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	address := fmt.Sprintf("127.0.0.1:%d", world.FreePort(t))
	probe := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return fmt.Sprintf("%d %s", response.StatusCode, body)
	}
	says := func(path, answer string) {
		t.Helper()
		w.Eventually(path+" says "+answer, func() bool { return probe(path) == answer+"\n" })
	}
	p, direct := world.NewProxy(t, w.Address), w.Address
	w.Address = p.Address()
	worker := w.Worker("--health-listen", address)
	w.Address = direct
	says("/readyz", `200 {"ready":true}`)
	out, err := w.Command("worker", "--ready", "--health-listen", address).CombinedOutput()
	require.NoError(t, err, "%s", out)

	p.Cut()
	says("/readyz", `503 {"ready":false,"reason":"Temporal does not answer"}`)
	says("/healthz", `200 {"healthy":true}`)
	out, err = w.Command("worker", "--ready", "--health-listen", address).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "Temporal does not answer")
	p.Restore()
	says("/readyz", `200 {"ready":true}`)
	p.Stall()
	says("/readyz", `503 {"ready":false,"reason":"Temporal does not answer"}`)
	p.Restore()
	says("/readyz", `200 {"ready":true}`)

	w.Must("run", "--detach", "--id", t.Name(), "pay")
	g.Wait(t)
	worker.Terminate()
	says("/readyz", `503 {"ready":false,"reason":"the worker is draining: it takes no new work"}`)
	says("/healthz", `200 {"healthy":true}`)
	require.False(t, worker.Ended())
	close(g.Open)
	w.Eventually("the worker stops", worker.Ended)
	require.Equal(t, 0, worker.Cmd.ProcessState.ExitCode(), worker.Output())
	w.Worker()
	w.Finished(t.Name(), "done")
}
