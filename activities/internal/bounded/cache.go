// Package bounded makes caches that limit the memory of their entries.
package bounded

import "github.com/maypok86/otter/v2"

// Cache returns a cache whose entries have a weight of at most `most` together.
func Cache[K comparable, V any](most int, weigh func(K, V) int) *otter.Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{
		MaximumWeight: uint64(max(most, 1)), // 0 is the only value that otter refuses
		Weigher:       func(key K, value V) uint32 { return uint32(weigh(key, value)) },
	})
}
