package devserver

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// nextTick returns the time of the next progress line: after 10, 30 and 60 seconds, and then every minute. `previous` is the
// time of the previous line, or 0 if there is none. Both times count from the beginning of the wait.
func nextTick(previous time.Duration) time.Duration {
	for _, early := range []time.Duration{10 * time.Second, 30 * time.Second} {
		if previous < early {
			return early
		}
	}
	return previous.Truncate(time.Minute) + time.Minute
}

// elapsed tells people how long something takes. In the background, it writes lines such as "Building: 10s" to `w`. Each line
// has the label at this time and the time since the call of elapsed. The caller stops the lines with the function `end`.
//
// The function `nextTime` decides when lines are written. It gets the time of the previous line, or 0 before the first line.
// It returns the time of the next line, which must be later. Both times are durations since the call of elapsed.
func elapsed(w io.Writer, label func() string, nextTime func(time.Duration) time.Duration) (end func()) {
	began := time.Now()
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for at := nextTime(0); ; at = nextTime(at) {
			select {
			case <-time.After(time.Until(began.Add(at))):
				fmt.Fprintf(w, "%s: %s\n", label(), at.Round(time.Second))
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		running.Wait() // no line is written after the returned function has returned
	}
}
