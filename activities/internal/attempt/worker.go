// Package attempt runs the attempts at activities: it sends their heartbeats, notices when and why an attempt ends, and keeps results until Temporal has them. An [Operation], which is a model call or a tool
// call, belongs to its key and not to an attempt. So an operation may outlive the attempt that began it.
package attempt

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/presence"
)

// Worker holds what all attempts on a worker share. It is safe for concurrent use. Create it with [NewWorker].
type Worker struct {
	temporal client.Client
	redact   func(string) string
	kept     *kept
	presence *presence.Presence
	// calls counts the attempts under way on this worker. The more there are, the less often each asks Temporal: see [Attempt.lookInterval].
	calls atomic.Int64

	mu sync.Mutex
	// operations holds the model calls and tool calls that this worker is making now.
	operations map[agent.Key]*Operation
}

// Options are the options of [NewWorker]. The zero Options are not valid, because some fields are required.
type Options struct {
	// Temporal is the client that sends the heartbeats. Required.
	Temporal client.Client
	// Redact removes secrets from a text. Required.
	Redact func(string) string
	// ResultsBytes limits the memory for results, in bytes. Required.
	ResultsBytes int
	// ResultsDir is the folder for results that have not reached Temporal yet. Empty means that results are kept in memory only.
	ResultsDir string
	// Codecs returns the codecs that encode the files in ResultsDir. Nil, and no codecs, mean plain text.
	Codecs func() []converter.PayloadCodec
	// Presence says whether other workers may have returned the calls of this one. Nil means that none does.
	Presence *presence.Presence
	// Log is required.
	Log *slog.Logger
}

// NewWorker returns a Worker. It returns an error if the folder [Options.ResultsDir] cannot be used.
func NewWorker(o Options) (*Worker, error) {
	kept, err := newKept(o.ResultsBytes, o.ResultsDir, o.Codecs, o.Log)
	if err != nil {
		return nil, err
	}
	w := &Worker{temporal: o.Temporal, redact: o.Redact, kept: kept, presence: o.Presence, operations: map[agent.Key]*Operation{}}
	return w, nil
}
