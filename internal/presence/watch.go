package presence

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

const (
	// lostAfter is the time without a heartbeat after which a worker counts as lost: four heartbeats have not come, and the fifth is due soon.
	// It is a little less than nine times `often`, so that the ninth list after the last heartbeat shows it.
	lostAfter = 2200 * time.Millisecond
	// watchers is the number of workers of a task queue that list the others often. Otherwise the rows that Temporal sends would grow with
	// the square of the number of workers.
	watchers = 3
	// often and seldom are the times between two lists of a watcher, and of any other worker.
	often, seldom = beatInterval / 2, 3 * time.Second
	// turn is the time after which the next worker looks for the calls of a lost one, in case the first does not.
	turn = time.Second
	// maxSearches limits how often a worker looks for the calls of a lost one, after 0, 1, 3, 7 … seconds, in all 127. The polls of a
	// suspended worker stay open for up to 70 seconds, so Temporal may still give it tasks.
	maxSearches = 8
)

// row is what Temporal says about a worker: its last heartbeat.
type row struct {
	// key names the process, and identity is the one with which it takes tasks. Processes may share an identity.
	key, identity string
	// beat is another text in each heartbeat of a worker. It is no time here, because the clocks of two machines are never compared.
	beat string
	// ended says that the worker has stopped, and has no calls.
	ended bool
}

// list is a list of workers. The times are those of the clock of the worker that asked, since some moment.
type list struct {
	// asked and got are when the request was sent and when the answer was there.
	asked, got time.Duration
	// beat is the last heartbeat of the worker that asked, which Temporal had accepted before.
	beat string
	rows []row
}

// watch finds the workers that are lost, from the lists that one worker reads. It does no I/O, and reads no clock.
type watch struct {
	key  string // of the worker that watches
	rows map[string]*watched
}

type watched struct {
	row
	// since is when this worker had first read the last heartbeat.
	since time.Duration
	// beats says that this worker has read two different heartbeats of the other one. So the other one was alive while this worker watched.
	beats bool
	lost  bool
	// searches is the number of searches for the calls of the lost worker, and next is the time of the next search. searching says that a
	// search is running.
	searches  int
	next      time.Duration
	searching bool
}

func newWatch(key string) *watch { return &watch{key: key, rows: map[string]*watched{}} }

// see takes in a list. It returns false, and ignores the list, if the list lacks the worker's own last heartbeat: then it may lack those of
// others, too, for example because the server has been started again, or because heartbeats are switched off.
//
// A worker is lost if no heartbeat of it was accepted between two lists that are [lostAfter] apart. A list may have been made at any time
// between the request and the answer.
func (w *watch) see(l list) bool {
	if !slices.ContainsFunc(l.rows, func(r row) bool { return r.key == w.key && r.beat == l.beat }) {
		return false
	}
	listed := map[string]*watched{}
	for _, r := range l.rows {
		known := w.rows[r.key]
		if known == nil || known.beat != r.beat || known.ended != r.ended {
			known = &watched{row: r, since: l.got, beats: known != nil}
		}
		known.lost = !r.ended && r.key != w.key && l.asked-known.since >= lostAfter
		listed[r.key] = known
	}
	for key, r := range listed {
		if r.lost && r.next == 0 {
			r.next = l.got + time.Duration(rank(key, listed, w.key))*turn
		}
	}
	w.rows = listed
	return true
}

// due returns the identities of the lost workers whose calls have to be looked for now. The caller calls searched afterwards.
func (w *watch) due(now time.Duration) (identities []string) {
	for _, r := range w.rows {
		if !r.lost || r.searching || r.searches == maxSearches || now < r.next || !w.gone(r.identity) {
			continue
		}
		r.searching = true
		r.searches++
		if !slices.Contains(identities, r.identity) {
			identities = append(identities, r.identity)
		}
	}
	slices.Sort(identities)
	return identities
}

// searched notes that a search for the calls of workers has ended. The next one follows after a second, and then after twice the time of before.
func (w *watch) searched(identities []string, now time.Duration) {
	for _, r := range w.rows {
		if r.searching && slices.Contains(identities, r.identity) {
			r.searching = false
			r.next = now + time.Second<<(r.searches-1)
		}
	}
}

// gone reports whether all workers with an identity are lost.
func (w *watch) gone(identity string) bool {
	lost := false
	for _, r := range w.rows {
		if r.identity == identity && !r.ended {
			if !r.lost {
				return false
			}
			lost = true
		}
	}
	return lost
}

// pause returns the time until the next list.
func (w *watch) pause() time.Duration {
	if slices.Contains(chosen(w.rows, w.key), w.key) || len(w.rows) == 0 {
		return often
	}
	return seldom
}

// chosen returns the keys of the workers that list the others often, as the worker `self` knows them. All workers that have read the same lists
// choose the same. Temporal lists dead workers for a minute or more, so a worker that has just begun to watch relies on nobody else.
func chosen(rows map[string]*watched, self string) []string {
	var living []string
	for key, r := range rows {
		if !r.lost && !r.ended && (r.beats || key == self) {
			living = append(living, key)
		}
	}
	sortBy("", living)
	return living[:min(len(living), watchers)]
}

// rank returns how many other workers look for the calls of a lost worker before this one.
func rank(lost string, rows map[string]*watched, key string) int {
	among := chosen(rows, key)
	sortBy(lost, among)
	if i := slices.Index(among, key); i >= 0 {
		return i
	}
	return watchers
}

// sortBy sorts keys by their hashes with a word, so that another worker comes first for another word.
func sortBy(word string, keys []string) {
	hash := func(key string) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word + "\n" + key)) // never fails
		return h.Sum64()
	}
	slices.SortFunc(keys, func(a, b string) int {
		if x, y := hash(a), hash(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}
