// Package attempt is the life of an activity attempt: its heartbeats, the lease that all attempts of a worker share, the reasons for
// which an attempt ends, and the results that a worker keeps until Temporal has them. An [Operation], which is a model call or a tool call,
// belongs to its key and not to an attempt. So an operation may outlive the attempt that began it.
package attempt

import (
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
)

// Worker holds what all attempts on a worker share. It is safe for concurrent use. Create it with [NewWorker].
type Worker struct {
	temporal client.Client
	redact   func(string) string
	// running holds the model calls and tool calls that this worker is making.
	running running
	// kept stores results that Temporal may not have yet.
	kept *kept
	// lease is nil if the worker has none.
	lease *lease
	// calls counts the attempts on this worker that send heartbeats.
	calls atomic.Int64
}

// Options configure a [Worker].
type Options struct {
	// Temporal is the client that sends the heartbeats. Required.
	Temporal client.Client
	// Redact removes secrets from a text. Required.
	Redact func(string) string
	// ResultsBytes limits the memory for results, in bytes. Required.
	ResultsBytes int
	// ResultsDir is a folder for results. Empty means that results are kept in memory only.
	ResultsDir string
	// LeaseTimeout is the heartbeat timeout of the worker's lease. Zero means that the worker has no lease.
	LeaseTimeout time.Duration
	// TaskQueue is the task queue of the agents. A lease needs it.
	TaskQueue string
	// Log is required.
	Log *slog.Logger
}

// NewWorker returns an error if the folder for results cannot be used.
func NewWorker(o Options) (*Worker, error) {
	kept, err := newKept(o.ResultsBytes, o.ResultsDir, o.Log)
	if err != nil {
		return nil, err
	}
	w := &Worker{temporal: o.Temporal, redact: o.Redact, kept: kept}
	if o.LeaseTimeout != 0 {
		w.lease = newLease(o.Temporal, o.TaskQueue, o.LeaseTimeout, o.Log)
	}
	return w, nil
}

// LeaseQueue returns the task queue on which this worker holds its lease: see [Worker.HoldLease]. It returns "" if the worker has no
// lease.
func (w *Worker) LeaseQueue() string {
	if w.lease == nil {
		return ""
	}
	return w.lease.queue
}
