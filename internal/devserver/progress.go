package devserver

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// nextTick returns when a person who has waited so long is told next for how long: after 10, 30 and 60 seconds, then every
// minute.
func nextTick(waited time.Duration) time.Duration {
	for _, early := range []time.Duration{10 * time.Second, 30 * time.Second} {
		if waited < early {
			return early
		}
	}
	return waited.Truncate(time.Minute) + time.Minute
}

// elapsed writes a line at every time that next returns until the returned function is called. Next is
// called with the time for which a person waits, and returns a later one.
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
		running.Wait() // no line after the last one
	}
}
