// Package settle settles calls that wait for somebody outside: a person decides on them, or gives their answers and results.
package settle

import (
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
)

// AgentText returns the beginning of a line about a call that waits: which agent has made the call, how long the call has waited, and how
// long it may still wait.
func AgentText(w client.Waits, now time.Time) string {
	limit := ""
	if w.Call.Wait.Until != 0 {
		limit = ", at most " + view.Age(time.UnixMilli(w.Call.Wait.Until).Sub(now)) + " more"
	}
	return fmt.Sprintf("%s (%s), for %s%s: ", printable.Name(w.AgentID), printable.Name(w.Agent), view.Age(now.Sub(time.UnixMilli(w.Since))), limit)
}

func namedCall(w client.Waits) string {
	return w.Handle() + " " + view.CallName(w.Call) + " of agent " + printable.Name(w.AgentID)
}
