//go:build unix

package chat

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopTime is the time within which the system stops this program. After it, the program was not stopped, or it goes on again.
const stopTime = 500 * time.Millisecond

// stop stops the processes of this program's group, as a terminal does for Ctrl-Z. It returns when the program goes on.
func stop() error {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-resumed:
	case <-time.After(stopTime):
	}
	return nil
}
