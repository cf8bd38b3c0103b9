// Package listing finds agents, and reads the status of each from its history.
package listing

import (
	"context"
	"io"
	"slices"

	"github.com/reagent-dev/reagent/client"
)

// Row is one agent in the result of [Find].
type Row struct {
	Entry    client.Entry
	Snapshot client.Snapshot
}

// Find returns the agents that match the query, in the order of [client.Client.List]. It returns at most `limit` agents; 0 means any number. The
// result `more` says whether more agents match. Find reads the status of each agent from the agent's history; see
// [reading.all]. An agent whose history cannot be read has the status [client.Unknown]. Find returns such an agent for every
// query, because a list must not hide an agent. During a long read, Find writes its progress to `notice`.
func Find(ctx context.Context, c *client.Client, notice io.Writer, query client.ListOptions, limit int) (found []Row, more bool, err error) {
	statuses := &reading{out: notice}
	defer statuses.stop()
	found = []Row{}
	var batch []client.Entry
	flush := func() error {
		rows, err := statuses.all(ctx, c, batch)
		found = append(found, slices.DeleteFunc(rows, func(r Row) bool {
			return len(query.Statuses) > 0 && r.Snapshot.Status != client.Unknown && !slices.Contains(query.Statuses, r.Snapshot.Status)
		})...)
		batch = batch[:0]
		return err
	}
	for e, err := range c.List(ctx, query) {
		if err != nil {
			return nil, false, err
		}
		if batch = append(batch, e); len(batch) == batchSize {
			if err := flush(); err != nil {
				return nil, false, err
			}
		}
		if limit > 0 && len(found) > limit {
			break
		}
	}
	if err := flush(); err != nil {
		return nil, false, err
	}
	if limit > 0 && len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}
