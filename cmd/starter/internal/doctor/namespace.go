package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func checkNamespace(ctx context.Context, p *patient) []object.Finding {
	name := p.flags.Namespace
	found, err := p.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)), errors.As(err, new(*serviceerror.NotFound)):
		text := fmt.Sprintf("the server has no namespace %q", name)
		if p.flags.InCloud() {
			return []object.Finding{wrong(text, "name another one with --namespace or TEMPORAL_NAMESPACE (in Temporal Cloud with the account, as in shop.a1b2c), or create it in the Cloud UI")}
		}
		create := "temporal operator namespace create --namespace " + shellword.Quote(name) + p.server()
		return []object.Finding{wrong(text, "name another one with --namespace or TEMPORAL_NAMESPACE, or create it: `"+create+"`", create)}
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return []object.Finding{unchecked("whether there is a namespace " + name + ": Temporal does not permit to describe it with this key or certificate")}
	case err != nil:
		return []object.Finding{failed("describe the namespace "+name, err)}
	}
	p.retention = found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return []object.Finding{well("the server has the namespace %s", name)}
}

// shortRetention is a time that is gone after a long weekend.
const shortRetention = 72 * time.Hour

func checkRetention(_ context.Context, p *patient) []object.Finding {
	set := "temporal operator namespace update --namespace " + shellword.Quote(p.flags.Namespace) + " --retention 30d" + p.server()
	if p.flags.InCloud() {
		set = "tcld namespace retention set --namespace " + shellword.Quote(p.flags.Namespace) + " --retention-days 30"
	}
	return []object.Finding{judgeRetention(p.retention, set)}
}

func judgeRetention(kept time.Duration, set string) object.Finding {
	hours := int(kept.Hours())
	switch {
	case kept == 0:
		return unchecked("how long Temporal keeps agents that have ended: it does not say")
	case kept < shortRetention:
		return warn(fmt.Sprintf("Temporal deletes agents %s after their end, with what a resume or a reset needs", plural.Of(hours, "hour")),
			"keep them longer: `"+set+"`", set)
	}
	return well("Temporal keeps agents for %s after their end", plural.Of(hours/24, "day"))
}

// server returns the flag with which the Temporal CLI reaches the server.
func (p *patient) server() string { return " --address " + shellword.Quote(p.flags.Address) }
