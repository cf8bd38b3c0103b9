package progress

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
)

// Notice reports a problem once, when it has lasted for the time silence. It also reports the end of a reported problem.
func TestPatienceTellsATroubleOnceAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewNotice(&out, "q", 0)
		defer p.Stop()
		said := func() string {
			defer out.Reset()
			return out.String()
		}
		see := func(progress client.Progress, after time.Duration) string {
			time.Sleep(after) // of the bubble's clock
			p.Update(progress)
			return said()
		}
		good := client.Progress{Status: client.Running}
		require.Empty(t, see(good, time.Second), "an answer came in time")
		require.Empty(t, see(client.Progress{NoWorker: true}, 0))
		require.Empty(t, see(good, time.Second), "over before it was told")

		require.Empty(t, see(client.Progress{NoWorker: true}, 0))
		require.Contains(t, see(client.Progress{NoWorker: true}, 2*time.Second), `No worker has answered yet on task queue "q".`)
		require.Empty(t, see(client.Progress{NoWorker: true}, time.Second), "once")
		require.Empty(t, see(client.Progress{NoServer: true}, time.Second))
		require.Equal(t, "Temporal does not answer; trying again until it does.\n", see(client.Progress{NoServer: true}, 2*time.Second))
		require.Equal(t, "Temporal answers again.\n", see(good, time.Second))

		limited := &client.Retry{What: "model", Class: "RateLimited", Message: "model: rate limit reached (HTTP 429): slow down", Attempt: 2, Limit: 8, Next: time.Now().Add(20 * time.Second)}
		require.Empty(t, see(client.Progress{Retry: limited}, 0))
		require.Equal(t, "model: rate limit reached (HTTP 429): slow down; attempt 2 of 8 starts in 18 s\n", see(client.Progress{Retry: limited}, 2*time.Second))
		require.Empty(t, see(client.Progress{Retry: limited}, time.Second), "once per change")
		next := &client.Retry{What: "model", Class: "Unheard", Message: "odd\x1b[31m", Attempt: 3}
		require.Equal(t, "model: odd\\x1b[31m; attempt 3 is running\n", see(client.Progress{Retry: next}, time.Second), "a change is news")
	})
}

func TestPatienceBeginsWithNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewNotice(&out, "q", time.Minute)
		time.Sleep(Silence) // of the bubble's clock
		synctest.Wait()
		p.Stop()
		require.Equal(t, "No worker has answered yet on task queue \"q\". Start one with `go run ./cmd/worker --config agents.yaml`; this command waits 1m0s for it (--wait).\n", out.String(), "and no end of it: nobody came")
	})
}
