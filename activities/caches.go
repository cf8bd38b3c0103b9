package activities

import (
	"github.com/maypok86/otter/v2"
	commonpb "go.temporal.io/api/common/v1"
)

// caches hold what a worker would have to read from Temporal again. All of them together have at most [Options.CacheBytes].
type caches struct {
	cache *cache
	// indexes caches indexes of histories, by run ID.
	indexes *otter.Cache[string, *index]
	// results caches results of activities.
	results *otter.Cache[location, *commonpb.Payloads]
	// lists caches, for a run ID, all runs with the same workflow ID, newest first.
	lists *otter.Cache[string, []string]
	// lineages caches, for a run ID, the runs from which the run was reset.
	lineages *otter.Cache[string, []string]
	// states caches compressed states of agents.
	states *otter.Cache[string, packedState]
	// kept stores results that Temporal may not have yet.
	kept *kept
}

func newCaches(o Options) (c caches, err error) {
	if c.cache, err = newCache(o.CacheBytes / 2); err != nil {
		return caches{}, err
	}
	if c.indexes, err = newIndexes(o.CacheBytes / 16); err != nil {
		return caches{}, err
	}
	if c.results, err = newResults(o.CacheBytes * 3 / 16); err != nil {
		return caches{}, err
	}
	c.lists, err = otter.New(&otter.Options[string, []string]{
		MaximumWeight: maxListed, Weigher: func(_ string, runs []string) uint32 { return uint32(1 + len(runs)) },
	})
	if err != nil {
		return caches{}, err
	}
	if c.lineages, err = otter.New(&otter.Options[string, []string]{MaximumSize: maxLineages}); err != nil {
		return caches{}, err
	}
	c.states, err = otter.New(&otter.Options[string, packedState]{
		MaximumWeight: uint64(o.CacheBytes / 8),
		Weigher:       func(_ string, p packedState) uint32 { return uint32(len(p.data)) },
	})
	if err != nil {
		return caches{}, err
	}
	c.kept, err = newKept(o.CacheBytes/8, o.ResultsDir, o.Log)
	return c, err
}
