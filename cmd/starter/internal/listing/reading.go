package listing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// batchSize is the largest number of agents whose statuses [Find] reads together. After each batch, [Find] drops the agents
	// whose status the query does not select.
	batchSize = 64
	// readAtOnce limits the number of histories that are read at the same time, because each is held in memory and replayed.
	readAtOnce  = 8
	readTimeout = 20 * time.Second
)

// reading reads the statuses of agents from their histories. During a long read, it reports how many histories it has read;
// see [reading.progress]. [reading.all] may be called several times. At the end, [reading.stop] must be called.
type reading struct {
	out io.Writer

	done    atomic.Int64
	encoded atomic.Int64 // agents that only a codec could decode
	mu      sync.Mutex
	timer   *time.Timer
}

// readFunc reads an agent that [client.Client.List] has yielded.
type readFunc = func(ctx context.Context, e client.Entry) (client.Snapshot, error)

// all reads the status of each of the given agents. It returns a row for each agent, in the same order, but none for agents
// that Temporal no longer has. If an agent's history cannot be read, the agent's status is [client.Unknown], and the reason
// is written to `r.out`. The result is an error if Temporal does not answer. If the context has ended, the error is
// [context.Cause] of the context.
func (r *reading) all(ctx context.Context, read readFunc, entries []client.Entry) ([]Row, error) {
	r.begin()
	rows := make([]Row, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for i, e := range entries {
		group.Go(func() error {
			one, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			snap, err := read(one, e)
			r.done.Add(1)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, client.ErrNotFound):
				return nil // the row stays empty
			case errors.As(err, new(*serviceerror.Unavailable)):
				return err
			case errors.Is(err, client.ErrEncoded):
				r.encoded.Add(1)
				snap = client.Snapshot{ID: e.ID, Agent: e.Agent, Status: client.Unknown, Task: e.Task}
			case err != nil:
				r.sayf("Agent %s: its state is unknown: %s", e.ID, printable.Line(err.Error(), 300))
				snap = client.Snapshot{ID: e.ID, Agent: e.Agent, Status: client.Unknown, Task: e.Task}
			}
			rows[i] = Row{e, snap}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(r Row) bool { return r.Snapshot.Status == "" }), nil
}

func (r *reading) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		r.timer = time.AfterFunc(progress.Silence, r.progress)
	}
}

// progress writes the number of histories that have been read so far. A timer calls progress for the first time after the
// time [progress.Silence], and then at longer intervals.
func (r *reading) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		return
	}
	fmt.Fprintf(r.out, "Reading the histories of the agents: %d read so far …\n", r.done.Load())
	r.timer.Reset(5 * progress.Silence)
}

func (r *reading) sayf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

func (r *reading) stop() {
	if n := r.encoded.Swap(0); n > 0 {
		r.sayf("A codec has encoded %d of the agents, so their state is unknown: set TEMPORAL_CODEC_ENDPOINT to the codec server of this namespace, or REAGENT_ENCRYPTION_KEYS_FILE to the file with the keys.", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}
