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

	"github.com/reagent-dev/reagent/activities/internal/bounded"
)

// Reader reads other runs, and caches what it has read. It is safe for concurrent use. Create it with [NewReader].
type Reader struct {
	// temporal limits list requests.
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

// NewReader returns a Reader with empty caches, which use at most `cacheBytes` bytes. The converter decodes memos and histories.
func NewReader(temporal client.Client, dc converter.DataConverter, cacheBytes int, log *slog.Logger) *Reader {
	limited := newLimitedLists(temporal)
	return &Reader{
		temporal: limited, lister: newLister(limited), converter: dc, log: log,
		indexes:  bounded.Cache(cacheBytes/6, func(_ string, x *index) int { return x.size }),
		results:  bounded.Cache(cacheBytes/2, func(_ location, p *commonpb.Payloads) int { return 200 + proto.Size(p) }),
		states:   bounded.Cache(cacheBytes/3, func(_ string, p packedState) int { return len(p.data) }),
		lists:    bounded.Cache(maxListed, func(_ string, runs []string) int { return 1 + len(runs) }),
		lineages: otter.Must(&otter.Options[string, []string]{MaximumSize: maxLineages}),
	}
}
