package doctor

import (
	"context"
	"strings"

	"go.temporal.io/api/operatorservice/v1"

	"github.com/reagent-dev/reagent/internal/app/object"
)

// reportedProblems is an attribute that servers from 1.30 on set for workflows whose tasks fail again and again.
const reportedProblems = "TemporalReportedProblems"

func checkAttributes(ctx context.Context, p *patient) []object.Finding {
	missing, err := p.agents.MissingAttributes(ctx, p.flags.Namespace)
	if err != nil {
		return []object.Finding{failed("read the search attributes", err)}
	}
	known, err := p.temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: p.flags.Namespace})
	if err == nil {
		_, p.problems = known.GetSystemAttributes()[reportedProblems]
	}
	if len(missing) == 0 {
		p.searchable = true
		return []object.Finding{well("the namespace has the search attributes of agents")}
	}
	command := "starter setup"
	if p.flags.InCloud() {
		command = p.flags.RegisterCommand(missing)
	}
	return []object.Finding{warn("the namespace lacks the search attributes "+strings.Join(missing, ", ")+", so agents are found slowly, and not by their status",
		"register them: `"+command+"`", command)}
}
