package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/protocol"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// requireCure asserts the level, and that whoever reads of something wrong also reads what to do.
func requireCure(t *testing.T, level object.Level, f object.Finding, about any) {
	t.Helper()
	require.Equal(t, level, f.Level, "%v: %s", about, f.Finding)
	require.NotEmpty(t, f.Finding)
	require.Equal(t, level == object.Warning || level == object.Wrong, f.Cure != "", "%v: %s", about, f.Cure)
	for _, command := range f.Commands {
		require.Contains(t, f.Cure, command, about)
	}
}

func TestOldServersAreNamed(t *testing.T) {
	t.Parallel()
	for version, level := range map[string]object.Level{
		"1.29.1": object.Well, "1.31.0-152.3": object.Well, "2.0.0": object.Well, "1.28.4": object.Warning, "0.9": object.Warning, "dev": object.Unchecked, "": object.Unchecked,
	} {
		requireCure(t, level, judgeVersion(version, false), version)
	}
	requireCure(t, object.Well, judgeVersion("s-12", true), "Cloud")
}

func TestAShortRetentionIsNamed(t *testing.T) {
	t.Parallel()
	for kept, level := range map[time.Duration]object.Level{
		0: object.Unchecked, time.Hour: object.Warning, 24 * time.Hour: object.Warning, 72 * time.Hour: object.Well, 720 * time.Hour: object.Well,
	} {
		requireCure(t, level, judgeRetention(kept, "temporal operator namespace update"), kept)
	}
}

// The server had its time at some moment between the poll and the answer, so only what lies outside is a difference of the clocks.
func TestClocksAreComparedWithTheTimeBetween(t *testing.T) {
	t.Parallel()
	from, to := noon, noon.Add(5*time.Second)
	for server, level := range map[time.Time]object.Level{
		from: object.Well, to: object.Well, from.Add(3 * time.Second): object.Well, from.Add(-time.Second): object.Well, to.Add(time.Second): object.Well,
		from.Add(-2 * time.Second): object.Warning, to.Add(2 * time.Second): object.Warning, from.Add(-time.Minute): object.Wrong, to.Add(time.Minute): object.Wrong,
	} {
		requireCure(t, level, judgeClock(server, from, to), server)
	}
	require.Contains(t, judgeClock(from.Add(-time.Minute), from, to).Finding, "at least 1m0s ahead of that of the server")
	require.Contains(t, judgeClock(to.Add(time.Minute), from, to).Finding, "at least 1m0s behind that of the server")
}

func poller(identity, build string) *taskqueuepb.PollerInfo {
	p := &taskqueuepb.PollerInfo{Identity: identity}
	if build != "" {
		p.DeploymentOptions = &deploymentpb.WorkerDeploymentOptions{
			DeploymentName: "shop", BuildId: build, WorkerVersioningMode: enumspb.WORKER_VERSIONING_MODE_VERSIONED,
		}
	}
	return p
}

func TestWorkersOfATaskQueue(t *testing.T) {
	t.Parallel()
	type pollers = []*taskqueuepb.PollerInfo
	one := poller("1@a"+protocol.DigestMark+"x", "")
	for name, c := range map[string]struct {
		q      queue
		levels []object.Level
	}{
		"none":              {queue{waiting: 2}, []object.Level{object.Wrong}},
		"one":               {queue{workflows: pollers{one}, activities: pollers{one}}, []object.Level{object.Well}},
		"no calls":          {queue{workflows: pollers{one}}, []object.Level{object.Well, object.Wrong}},
		"two, alike":        {queue{workflows: pollers{one, poller("2@a"+protocol.DigestMark+"x", "")}, activities: pollers{one}}, []object.Level{object.Well}},
		"two definitions":   {queue{workflows: pollers{one, poller("2@a"+protocol.DigestMark+"y", "")}, activities: pollers{one}}, []object.Level{object.Well, object.Warning}},
		"two versions":      {queue{workflows: pollers{poller("1@a"+protocol.DigestMark+"x", "1"), poller("2@a"+protocol.DigestMark+"y", "2")}, activities: pollers{one}}, []object.Level{object.Well}},
		"version and none":  {queue{workflows: pollers{one, poller("2@a", "2")}, activities: pollers{one}}, []object.Level{object.Well, object.Warning}},
		"an identity's own": {queue{workflows: pollers{poller("mine", "")}, activities: pollers{poller("mine", "")}}, []object.Level{object.Well}},
	} {
		c.q.name = "agents"
		found := judgeWorkers(c.q)
		require.Len(t, found, len(c.levels), name)
		for i, f := range found {
			requireCure(t, c.levels[i], f, name)
		}
	}
	require.Equal(t, "no worker serves the task queue agents, and about 2 tasks wait for one", judgeWorkers(queue{name: "agents", waiting: 2})[0].Finding)
	require.Equal(t, "agents: 1 worker: 1@a (shop, build 7)", judgeWorkers(queue{name: "agents", workflows: pollers{poller("1@a", "7")}, activities: pollers{one}})[0].Finding)
}

// An agent is stuck if work of its turn fails again and again, or if no worker takes it. A wait for a sub-agent, and a few failures, are not.
func TestStuckAgentsAreTold(t *testing.T) {
	t.Parallel()
	activity := func(kind string, attempt int32, state enumspb.PendingActivityState, age time.Duration) *workflowservice.DescribeWorkflowExecutionResponse {
		a := &workflowpb.PendingActivityInfo{
			ActivityType: &commonpb.ActivityType{Name: kind}, Attempt: attempt, State: state, ScheduledTime: timestamppb.New(noon.Add(-age)),
		}
		if attempt > 1 {
			a.LastFailure = &failurepb.Failure{Message: "HTTP 500"}
		}
		return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{a}}
	}
	task := func(attempt int32, age time.Duration) *workflowservice.DescribeWorkflowExecutionResponse {
		return &workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{
			Attempt: attempt, State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED, ScheduledTime: timestamppb.New(noon.Add(-age)),
		}}
	}
	const scheduled, started = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, enumspb.PENDING_ACTIVITY_STATE_STARTED
	for _, c := range []struct {
		d   *workflowservice.DescribeWorkflowExecutionResponse
		why string
	}{
		{&workflowservice.DescribeWorkflowExecutionResponse{}, ""},
		{activity(protocol.CallModel, 1, started, time.Hour), ""},
		{activity(protocol.CallModel, 1, scheduled, 10*time.Second), ""},
		{activity(protocol.CallModel, 1, scheduled, 2*time.Minute), "no worker has taken its model call for 2m0s"},
		{activity(protocol.CallTool, 3, scheduled, time.Hour), ""},
		{activity(protocol.CallTool, 9, scheduled, time.Hour), "its tool call has failed 8 times: HTTP 500"},
		{activity("AwaitChild", 900, scheduled, time.Hour), ""},
		{task(1, time.Second), ""},
		{task(1, 3*time.Minute), "no worker has taken its workflow task for 3m0s"},
		{task(8, time.Second), "its workflow task has failed 7 times"},
	} {
		require.Equal(t, c.why, stuckBy(c.d, noon))
	}
	requireCure(t, object.Well, judgeStuck(nil), "none")
	f := judgeStuck([]stuckAgent{{"a b", "it fails"}, {"c", "it fails"}})
	requireCure(t, object.Wrong, f, "two")
	require.Equal(t, []string{`starter list --where 'id in ["a b", "c"]'`, `starter show 'a b'`}, f.Commands)
}

func TestLongWaitsForPeopleAreTold(t *testing.T) {
	t.Parallel()
	waits := func(id string, age time.Duration) client.Waits {
		return client.Waits{AgentID: id, Call: agent.Call{}, Since: noon.Add(-age).UnixMilli()}
	}
	requireCure(t, object.Well, judgeWaiting(nil, noon), "none")
	requireCure(t, object.Well, judgeWaiting([]client.Waits{waits("a", time.Hour)}, noon), "short")
	f := judgeWaiting([]client.Waits{waits("a", 25*time.Hour), waits("b", 80*time.Hour), waits("c", time.Minute)}, noon)
	requireCure(t, object.Warning, f, "long")
	require.Equal(t, "2 calls wait for people for longer than 24 h; the oldest, of agent b, for 3 d", f.Finding)
}

// Who may not read something has no problem with the agents.
func TestAMissingPermissionIsNoProblem(t *testing.T) {
	t.Parallel()
	requireCure(t, object.Unchecked, failed("read", serviceerror.NewPermissionDenied("no", "")), "denied")
	requireCure(t, object.Wrong, failed("read", serviceerror.NewUnavailable("down")), "down")
	requireCure(t, object.Wrong, failed("read", serviceerror.NewDeadlineExceeded("late")), "late")
}
