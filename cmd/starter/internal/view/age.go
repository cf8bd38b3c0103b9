package view

import (
	"fmt"
	"time"
)

// Age returns a duration as a whole number of seconds, minutes, hours or days. A negative duration gives "0 s".
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds()))) // d is negative if the clocks of two machines differ
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}
