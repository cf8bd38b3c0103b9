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

// Depth says how much of an agent is read. A larger depth has all that a smaller one has.
type Depth int

// The depths.
const (
	// Listed reads nothing. The snapshot has what Temporal's list has, and the status of an agent that has not ended is [client.Running].
	Listed Depth = iota
	// Described reads the end of an agent that has ended, and the history of any other: see [client.Client.DescribeEntry].
	Described
	// Whole reads the history of each agent: see [client.Client.ReadEntry].
	Whole
)

// Filter selects agents in [Find] by what [client.ListOptions] cannot.
type Filter interface {
	// Depth says how much of an agent Matches needs.
	Depth() Depth
	// MayMatch is called before the agent is read. If it returns false, Matches would, too.
	MayMatch(e client.Entry) (bool, error)
	Matches(r Row) (bool, error)
}

// Query says which agents [Find] returns, and what it reads of them.
type Query struct {
	client.ListOptions

	// Filter selects further; nil selects all.
	Filter Filter
	// Limit is the largest number of agents; 0 means any number.
	Limit int
	// Depth is what to read of each agent, if the filter does not need more.
	Depth Depth
}

// Find returns the agents that match the query, in the order of [client.Client.List]. The result `more` says whether more agents match than
// the limit allows. An agent whose history cannot be read has the status [client.Unknown]. Find returns such an agent for every query that
// does not exclude it by what Temporal's list has, because a list must not hide an agent. During a long read, Find writes its progress to
// `notice`.
func Find(ctx context.Context, c *client.Client, notice io.Writer, query Query) (found []Row, more bool, err error) {
	statuses := &reading{out: notice}
	defer statuses.stop()
	found = []Row{}
	var batch []client.Entry
	flush := func() error {
		rows, err := query.read(ctx, c, statuses, batch)
		found, batch = append(found, rows...), batch[:0]
		return err
	}
	for e, err := range c.List(ctx, query.ListOptions) {
		if err != nil {
			return nil, false, err
		}
		if batch = append(batch, e); len(batch) == query.batchSize() {
			if err := flush(); err != nil {
				return nil, false, err
			}
		}
		if query.Limit > 0 && len(found) > query.Limit {
			break
		}
	}
	if err := flush(); err != nil {
		return nil, false, err
	}
	if query.Limit > 0 && len(found) > query.Limit {
		return found[:query.Limit], true, nil
	}
	return found, false, nil
}

// batchSize returns the number of agents that [Find] reads together. They are few if the limit is small, so that a short list costs little.
func (q Query) batchSize() int {
	if q.Limit > 0 {
		return min(batchSize, max(q.Limit+1, readAtOnce))
	}
	return batchSize
}

// Select is [Find] for agents that the caller has listed. Of the query, only the filter and the depth count.
func Select(ctx context.Context, c *client.Client, notice io.Writer, query Query, listed []client.Entry) ([]Row, error) {
	statuses := &reading{out: notice}
	defer statuses.stop()
	var found []Row
	for batch := range slices.Chunk(listed, batchSize) {
		rows, err := query.read(ctx, c, statuses, batch)
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	return found, nil
}

// read returns those of the given agents that match.
func (q Query) read(ctx context.Context, c *client.Client, statuses *reading, batch []client.Entry) ([]Row, error) {
	var may []client.Entry
	for _, e := range batch {
		ok, err := q.Filter == nil, error(nil)
		if !ok {
			ok, err = q.Filter.MayMatch(e)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			may = append(may, e)
		}
	}
	rows, err := statuses.all(ctx, q.reader(c), may)
	var found []Row
	for _, r := range rows {
		ok, wrong := q.matches(r)
		if wrong != nil {
			return nil, wrong
		}
		if ok {
			found = append(found, r)
		}
	}
	return found, err
}

// reader returns the function that reads an agent. It reads no more than the query needs.
func (q Query) reader(c *client.Client) readFunc {
	depth := q.Depth
	if q.Filter != nil {
		depth = max(depth, q.Filter.Depth())
	}
	switch depth {
	case Whole:
		return c.ReadEntry
	case Described:
		return c.DescribeEntry
	}
	return func(_ context.Context, e client.Entry) (client.Snapshot, error) {
		return client.Snapshot{ID: e.ID, Agent: e.Agent, Status: e.Status, Task: e.Task, Metadata: e.Metadata}, nil
	}
}

func (q Query) matches(r Row) (bool, error) {
	if r.Snapshot.Status == client.Unknown {
		return true, nil
	}
	if len(q.Statuses) > 0 && !slices.Contains(q.Statuses, r.Snapshot.Status) {
		return false, nil
	}
	if q.Filter == nil {
		return true, nil
	}
	return q.Filter.Matches(r)
}
