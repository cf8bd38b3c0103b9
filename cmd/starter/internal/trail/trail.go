// Package trail makes audit trails of the histories that Temporal has, and checks copies of them, for `starter audit`.
package trail

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/audit"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Make makes the trail of a scope, and calls `tell` with each line. The result is the hash of the last line. The error wraps
// [client.ErrNotFound] if Temporal has no agent with the ID of the scope.
func Make(ctx context.Context, c *client.Client, scope audit.Scope, tell func(object.AuditLine) error) (hash string, err error) {
	ids, err := agents(ctx, c, scope)
	if err != nil {
		return "", err
	}
	t, err := audit.Begin(scope, time.Now(), tell)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		histories, err := c.Histories(ctx, id)
		if errors.Is(err, client.ErrNotFound) && id != scope.ID {
			continue // deleted meanwhile
		}
		if err != nil {
			return "", err
		}
		var runs []audit.Run
		for _, h := range histories {
			runs = append(runs, audit.Run(h))
		}
		if err := t.Add(runs); err != nil {
			return "", err
		}
	}
	return t.End()
}

// agents returns the IDs of the agents of a scope: a parent before its sub-agents, or all agents in the order of their start.
func agents(ctx context.Context, c *client.Client, scope audit.Scope) ([]string, error) {
	var ids []string
	if scope.ID != "" {
		tree, err := c.Tree(ctx, scope.ID)
		for _, e := range tree {
			ids = append(ids, e.ID)
		}
		return ids, err
	}
	lives, err := c.Lives(ctx, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(lives, func(a, b client.Life) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	for _, l := range lives {
		if (l.Ended.IsZero() || !l.Ended.Before(scope.Since)) && !slices.Contains(ids, l.ID) {
			ids = append(ids, l.ID)
		}
	}
	return ids, nil
}
