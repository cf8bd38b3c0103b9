package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

// longWait is the time after which a call that waits for a person has probably been forgotten.
const longWait = 24 * time.Hour

// checkPeople looks for calls that have waited for people, or programs outside, for long.
func checkPeople(ctx context.Context, p *patient) []object.Finding {
	waiting, err := p.agents.Inbox(ctx)
	var found []object.Finding
	if unreadable, partly := errors.AsType[*client.UnreadableAgentsError](err); partly {
		found = append(found, unchecked(fmt.Sprintf("whether %s for people: the history cannot be read", plural.Of(len(unreadable.Errs), "further agent")+" "+verb(len(unreadable.Errs), "waits", "wait"))))
	} else if ctx.Err() != nil {
		return []object.Finding{unchecked("which calls wait for people: to read the histories takes longer than " + long.String())}
	} else if err != nil {
		return []object.Finding{failed("read the calls that wait for people", err)}
	}
	return append(found, judgeWaiting(waiting, time.Now()))
}

func judgeWaiting(waiting []client.Waits, now time.Time) object.Finding {
	var oldest client.Waits
	over := 0
	for _, w := range waiting {
		if now.Sub(time.UnixMilli(w.Since)) < longWait {
			continue
		}
		if over++; oldest.Since == 0 || w.Since < oldest.Since {
			oldest = w
		}
	}
	switch {
	case len(waiting) == 0:
		return well("no call waits for people")
	case over == 0:
		return well("%s %s for people, none for longer than %s", plural.Of(len(waiting), "call"), verb(len(waiting), "waits", "wait"), view.Age(longWait))
	}
	return warn(fmt.Sprintf("%s %s for people for longer than %s; the oldest, of agent %s, for %s", plural.Of(over, "call"), verb(over, "waits", "wait"), view.Age(longWait),
		printable.Name(oldest.AgentID), view.Age(now.Sub(time.UnixMilli(oldest.Since)))), "decide: `starter inbox`", "starter inbox")
}
