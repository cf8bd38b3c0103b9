package devserver

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// nextTick returns the time of the next line of a wait that has lasted for the time waited. There is a line after 10, 30 and 60
// seconds, and then every minute. Both times count from the beginning of the wait.
func nextTick(waited time.Duration) time.Duration {
	for _, early := range []time.Duration{10 * time.Second, 30 * time.Second} {
		if waited < early {
			return early
		}
	}
	return waited.Truncate(time.Minute) + time.Minute
}

// elapsed writes lines with the elapsed time of a wait to w, until the returned function over is called. The text what begins
// each line. The function next returns the time of the next line, given the time of the line before (first 0). It must return a
// later time.
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
