package access

import (
	"os"
	"slices"
	"sync"
	"time"
)

// reloadEvery limits how often files are looked at. It is the longest time for which a removed key is accepted.
const reloadEvery = time.Second

// reloaded is a value that is read from files, and read again when one of them has changed. It is looked at when the value is needed, so it has
// no goroutine and nothing to close. It is safe for concurrent use.
type reloaded[T any] struct {
	files []string
	read  func() (T, error)
	// failed learns of each change that cannot be read, once. The last value that could be read stays.
	failed func(error)
	now    func() time.Time

	mu     sync.Mutex
	looked time.Time
	seen   []os.FileInfo // nil for a file that could not be found
	value  T
}

// load reads the value for the first time.
func (r *reloaded[T]) load() (err error) {
	r.looked, r.seen = r.now(), r.look()
	r.value, err = r.read()
	return err
}

func (r *reloaded[T]) get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.looked) >= reloadEvery || now.Before(r.looked) {
		r.looked = now
		if seen := r.look(); !slices.EqualFunc(seen, r.seen, unchanged) {
			r.seen = seen
			if value, err := r.read(); err != nil {
				r.failed(err)
			} else {
				r.value = value
			}
		}
	}
	return r.value
}

func (r *reloaded[T]) look() []os.FileInfo {
	all := make([]os.FileInfo, len(r.files))
	for i, file := range r.files {
		all[i], _ = os.Stat(file) // reading it tells the error
	}
	return all
}

func unchanged(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
