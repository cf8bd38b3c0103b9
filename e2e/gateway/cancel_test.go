package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// A response is cancelled also if the agent has not begun it yet, and refuses to be interrupted.
func TestCancelAtOnce(t *testing.T) {
	w := world.New(t, func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		<-ctx.Done()
		return llm.Reply{}, context.Cause(ctx)
	}, nil, "")
	load := world.NewHold(protocol.LoadAgent)
	w.WorkerHere(worker.Options{Interceptors: []interceptor.WorkerInterceptor{load}}, func(*agent.Definition) {}, activities.Agent{Name: "x", Model: "main"})
	s := serve(w)
	first := s.must("POST", "/responses", object{"model": "x", "input": "hang", "background": true})
	cancelled := make(chan *http.Response, 1)
	go func() { cancelled <- s.request("POST", "/responses/"+first["id"].(string)+"/cancel", nil) }()
	load.Wait(t)
	select { // the test holds in any order; time lets the gateway ask too early
	case <-cancelled:
		require.Fail(t, "the response was cancelled before it began")
	case <-time.After(300 * time.Millisecond):
	}
	close(load.Open)
	answer := <-cancelled
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "cancelled", s.must("GET", "/responses/"+first["id"].(string), nil)["status"])
}
