package doctor

import (
	"context"
	"fmt"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/internal/app/object"
)

// testedMinor is the second number of the oldest version of Temporal, 1.29, with which agents are tested.
const testedMinor = 29

func checkServer(ctx context.Context, p *patient) []object.Finding {
	found, err := p.temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return []object.Finding{failed("read the version of Temporal", err)}
	}
	return []object.Finding{judgeVersion(found.GetServerVersion(), p.flags.InCloud())}
}

func judgeVersion(version string, cloud bool) object.Finding {
	var major, minor int
	switch _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); {
	case cloud:
		return well("Temporal Cloud, version %s", version)
	case err != nil:
		return unchecked(fmt.Sprintf("the server says that its version is %q, which is no number", version))
	case major < 1 || major == 1 && minor < testedMinor:
		return warn(fmt.Sprintf("Temporal %s is older than 1.%d, the oldest version with which agents are tested", version, testedMinor),
			fmt.Sprintf("upgrade the server to 1.%d or later", testedMinor))
	}
	return well("Temporal %s", version)
}
