package telemetry

import "sync"

// told is a bounded set of what this process has told. Its zero value is empty. It is safe for concurrent use.
type told struct {
	mu   sync.Mutex
	set  map[any]struct{}
	ring []any // the members, in a ring; the oldest is at next once the ring is full
	next int
}

// maxTold is long enough to outlast the repetition of a workflow task, which follows within seconds.
const maxTold = 4096

// add adds a comparable value and reports whether it is new.
func (t *told) add(what any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.set[what]; known {
		return false
	}
	if t.set == nil {
		t.set = map[any]struct{}{}
	}
	if len(t.ring) < maxTold {
		t.ring = append(t.ring, what)
	} else {
		delete(t.set, t.ring[t.next])
		t.ring[t.next] = what
		t.next = (t.next + 1) % maxTold
	}
	t.set[what] = struct{}{}
	return true
}

// Once reports whether this is the first time that this process tells of `what`, a comparable value that names it. Temporal has a workflow
// task done again if an event came while it ran, and that is no replay. The process remembers the last few thousand values. Of a nil
// telemetry, the answer is true.
func (t *Telemetry) Once(what any) bool { return t == nil || t.told.add(what) }
