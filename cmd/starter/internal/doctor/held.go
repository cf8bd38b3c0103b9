package doctor

import (
	"context"
	"fmt"
	"io"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// maxRead is the largest number of agents whose histories are read to know their status.
const maxRead = 200

// ofAgents is the query for agents that have not ended.
const ofAgents = "WorkflowType = '" + protocol.AgentWorkflow + "' AND ExecutionStatus = 'Running'"

// byStatus returns the query for agents that have not ended and have a status in their search attributes. withoutStatus is the query for those
// that have none: they were started before the namespace had the attributes.
func byStatus(s client.Status) string {
	return fmt.Sprintf("%s AND %s = '%s'", ofAgents, protocol.AttributeStatus.GetName(), s)
}

func withoutStatus() string {
	return fmt.Sprintf("%s AND %s IS NULL", ofAgents, protocol.AttributeStatus.GetName())
}

func (p *patient) count(ctx context.Context, query string) (int, error) {
	found, err := p.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: p.flags.Namespace, Query: query})
	return int(found.GetCount()), err
}

// checkHeld counts the agents that are held. With the search attributes, Temporal counts them.
func checkHeld(ctx context.Context, p *patient) []object.Finding {
	held, unread := 0, 1 // without the search attributes, all must be read
	var err error
	if p.searchable {
		if held, err = p.count(ctx, byStatus(client.Held)); err == nil {
			unread, err = p.count(ctx, withoutStatus())
		}
		if err != nil {
			return []object.Finding{failed("count the agents that are held", err)}
		}
	}
	var found []object.Finding
	if unread > 0 {
		read, more, err := listing.Find(ctx, p.agents, io.Discard, listing.Query{
			ListOptions: client.ListOptions{Statuses: []client.Status{client.Running}}, Limit: maxRead, Depth: listing.Described,
		})
		switch {
		case ctx.Err() != nil:
			return []object.Finding{unchecked("which agents are held: to read their histories takes longer than " + long.String())}
		case err != nil:
			return []object.Finding{failed("read which agents are held", err)}
		}
		among := 0
		for _, r := range read {
			if r.Snapshot.Status == client.Held {
				among++
			}
		}
		held = max(held, among)
		if more {
			found = append(found, unchecked(fmt.Sprintf("whether further agents are held: many have no search attributes, and only the newest %d were read", maxRead)))
		}
	}
	if held == 0 {
		return append(found, well("no agent is held"))
	}
	return append(found, warn(plural.Of(held, "agent")+" "+verb(held, "is", "are")+" held: a failure or a person has stopped the turn, and somebody has to let it go on",
		"see the causes with `starter list --where held`, remove them, and go on with `starter send --where held TEXT`", "starter list --where held", "starter send --where held TEXT"))
}
