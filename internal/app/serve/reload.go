package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	agents "github.com/reagent-dev/reagent/client"
)

const (
	// maxReloaded is the largest number of running agents that are asked to reload at once: the newest ones.
	maxReloaded = 200
	// reloadTimeout limits the time of one such request.
	reloadTimeout = 10 * time.Second
	// maxNamed is the largest number of agents that one line names.
	maxNamed = 10
)

// reload asks the selected running agents of the worker to read their definitions again, and tells which. It may call `tell` from several
// goroutines.
func (w *agentWorker) reload(ctx context.Context, selected func(agents.Entry) bool, tell func(string)) {
	c := agents.New(w.temporal, "").WithConverter(w.converter)
	var ids []string
	for e, err := range c.List(ctx, agents.ListOptions{Statuses: []agents.Status{agents.Running}}) {
		if err != nil {
			if ctx.Err() == nil {
				tell(fmt.Sprintf("The running agents cannot be listed: %v; give them the new configuration with `starter reload ID`", err))
			}
			return
		}
		if e.TaskQueue != w.cfg.TaskQueue || !selected(e) {
			continue
		}
		if len(ids) == maxReloaded {
			tell(fmt.Sprintf("Only the newest %d running agents are asked to read their definitions again; ask the others with `starter reload ID`", maxReloaded))
			break
		}
		ids = append(ids, e.ID)
	}
	accepted := make([]bool, len(ids))
	var all errgroup.Group
	all.SetLimit(8)
	for i, id := range ids {
		all.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, reloadTimeout)
			defer cancel()
			err := c.Reload(limited, id)
			accepted[i] = err == nil
			if err != nil && !errors.Is(err, agents.ErrClosed) && ctx.Err() == nil {
				tell(fmt.Sprintf("%s was not asked to read its definition again: %v", id, err))
			}
			return nil
		})
	}
	_ = all.Wait()
	var asked []string
	for i, id := range ids {
		if accepted[i] {
			asked = append(asked, id)
		}
	}
	if len(asked) > 0 {
		tell("Asked to read their definitions again: " + listed(asked))
	}
}

func listed(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
