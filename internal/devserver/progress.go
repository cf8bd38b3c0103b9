package devserver

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// tickEvery is how often a person who waits is told for how long.
const tickEvery = 5 * time.Second

// elapsed writes a line at every interval until the returned function is
// called, which returns the time that has passed.
func elapsed(w io.Writer, what string, interval time.Duration) (done func() time.Duration) {
	began := time.Now()
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				fmt.Fprintf(w, "%s: %s\n", what, time.Since(began).Round(time.Second))
			case <-stop:
				return
			}
		}
	})
	return func() time.Duration {
		close(stop)
		running.Wait() // no line after the last one
		return time.Since(began).Round(time.Second)
	}
}
