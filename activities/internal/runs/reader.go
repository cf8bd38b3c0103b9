// Package runs reads other runs from their histories: results that are recalled, messages and decisions that a reset would lose, states
// of runs that have ended, and the progress of sub-agents. Activities of the agent call the methods of a [Reader] with their context,
// which says which run reads.
package runs

import (
	"log/slog"

	"github.com/maypok86/otter/v2"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"
)

// Reader reads other runs, and caches what it has read. It is safe for concurrent use. Create it with [NewReader].
type Reader struct {
	// temporal is [Options].Temporal with a limit for list requests.
	temporal  client.Client
	lister    *lister
	converter converter.DataConverter
	log       *slog.Logger
	// flights merges identical reads that happen at the same time.
	flights singleflight.Group

	indexes *otter.Cache[string, *index]
	results *otter.Cache[location, *commonpb.Payloads]
	// lists caches, for a run ID, all runs with the same workflow ID, newest first.
	lists *otter.Cache[string, []string]
	// lineages caches, for a run ID, the runs from which the run was reset.
	lineages *otter.Cache[string, []string]
	states   *otter.Cache[string, packedState]
}

// Options are the options of [NewReader]. All fields are required.
type Options struct {
	Temporal client.Client
	// Converter decodes memos and histories.
	Converter converter.DataConverter
	// CacheBytes limits the memory for what was read, in bytes.
	CacheBytes int
	Log        *slog.Logger
}

// NewReader returns a Reader with empty caches. The error is that of a cache that cannot be made.
func NewReader(o Options) (r *Reader, err error) {
	limited := newLimitedLists(o.Temporal)
	r = &Reader{temporal: limited, lister: newLister(limited), converter: o.Converter, log: o.Log}
	r.indexes, err = otter.New(&otter.Options[string, *index]{
		MaximumWeight: uint64(o.CacheBytes / 6),
		Weigher:       func(_ string, x *index) uint32 { return uint32(x.size) },
	})
	if err != nil {
		return nil, err
	}
	r.results, err = otter.New(&otter.Options[location, *commonpb.Payloads]{
		MaximumWeight: uint64(o.CacheBytes / 2),
		Weigher:       func(_ location, p *commonpb.Payloads) uint32 { return uint32(200 + proto.Size(p)) },
	})
	if err != nil {
		return nil, err
	}
	r.states, err = otter.New(&otter.Options[string, packedState]{
		MaximumWeight: uint64(o.CacheBytes / 3),
		Weigher:       func(_ string, p packedState) uint32 { return uint32(len(p.data)) },
	})
	if err != nil {
		return nil, err
	}
	r.lists, err = otter.New(&otter.Options[string, []string]{
		MaximumWeight: maxListed,
		Weigher:       func(_ string, runs []string) uint32 { return uint32(1 + len(runs)) },
	})
	if err != nil {
		return nil, err
	}
	r.lineages, err = otter.New(&otter.Options[string, []string]{MaximumSize: maxLineages})
	return r, err
}
