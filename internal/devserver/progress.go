package devserver

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// nextTick returns the time at which the next progress line is due, as a duration since the beginning of a wait. The parameter
// waited is the time of the previous line in the same form, or 0. Lines are due after 10, 30 and 60 seconds, and then every
// minute.
func nextTick(waited time.Duration) time.Duration {
	for _, early := range []time.Duration{10 * time.Second, 30 * time.Second} {
		if waited < early {
			return early
		}
	}
	return waited.Truncate(time.Minute) + time.Minute
}

// elapsed writes lines such as "what: 10s" to w, with the time since the call of elapsed. It ends when the caller calls over.
// Before each line, it calls next with the time of the previous line (at first 0), and next returns the time of the line. Both
// times are durations since the call of elapsed; next must return a longer one than it gets.
func elapsed(w io.Writer, what string, next func(time.Duration) time.Duration) (over func()) {
	began := time.Now()
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for at := next(0); ; at = next(at) {
			select {
			case <-time.After(time.Until(began.Add(at))):
				fmt.Fprintf(w, "%s: %s\n", what, at.Round(time.Second))
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		running.Wait() // no line is written after over returns
	}
}
