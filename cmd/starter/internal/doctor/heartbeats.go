package doctor

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/internal/app/object"
)

// checkHeartbeats looks whether workers can see soon that one of them is lost: see package presence.
func checkHeartbeats(ctx context.Context, p *patient) []object.Finding {
	found, err := p.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.flags.Namespace})
	if err == nil && found.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		_, err = p.temporal.WorkflowService().ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: p.flags.Namespace, PageSize: 1})
		if err == nil {
			return []object.Finding{well("the namespace has worker heartbeats: the calls of a lost worker go to another one after 3 to 4 seconds")}
		}
	}
	if err != nil && !errors.As(err, new(*serviceerror.Unimplemented)) {
		return []object.Finding{failed("ask for the heartbeats of workers", err)}
	}
	return []object.Finding{judgeHeartbeats(p.flags.InCloud())}
}

// judgeHeartbeats is the finding about a namespace without worker heartbeats.
func judgeHeartbeats(cloud bool) object.Finding {
	if cloud {
		return warn("the namespace has no worker heartbeats, so the calls of a lost worker go to another one only after 30 seconds",
			"if that is too late, start the workers with a shorter time, which costs more actions: `worker --heartbeat-timeout 3s`", "worker --heartbeat-timeout 3s")
	}
	return warn("the namespace has no worker heartbeats, so each call sends heartbeats of its own",
		"set frontend.WorkerHeartbeatsEnabled and frontend.ListWorkersEnabled to true in the dynamic configuration of the Temporal server, and start the workers again; "+
			"`starter dev` starts a server that has them", "starter dev")
}
