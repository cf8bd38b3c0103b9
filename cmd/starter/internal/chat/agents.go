package chat

import (
	"context"
	"iter"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Agents is the part of [client.Client] that a chat uses.
type Agents interface {
	Start(ctx context.Context, o client.StartOptions) (client.Started, error)
	Send(ctx context.Context, id string, m client.Message) (client.Sent, error)
	Await(ctx context.Context, id string, see func(client.Progress)) (client.Snapshot, error)
	Watch(ctx context.Context, id string, from int) iter.Seq2[client.Progress, error]
	List(ctx context.Context, o client.ListOptions) iter.Seq2[client.Entry, error]
	DescribeEntry(ctx context.Context, e client.Entry) (client.Snapshot, error)
	ShowRecorded(ctx context.Context, id string) (client.Snapshot, error)
	Tree(ctx context.Context, id string) ([]client.Entry, error)
	Pending(ctx context.Context, id string) ([]client.Waits, error)
	Decide(ctx context.Context, w client.Waits, d agent.Decision) error
	Permissions(ctx context.Context, id string) ([]agent.Permission, error)
	Revoke(ctx context.Context, id string, key agent.Key) error
	Aside(ctx context.Context, id, question string) (string, error)
	Interrupt(ctx context.Context, id string) error
	Fork(ctx context.Context, id string, o client.ForkOptions) (client.Started, error)
	RequestPartialText(ctx context.Context, id string, d time.Duration) error
}
