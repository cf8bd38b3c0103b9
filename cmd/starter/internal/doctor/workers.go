package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
)

const (
	// polledWithin is the time for which a worker counts as running after its last poll, which lasts up to a minute.
	polledWithin = 90 * time.Second
	// maxListed is the largest number of running agents whose task queues are looked at.
	maxListed = 1000
	// maxWorkers is the largest number of workers that a finding names.
	maxWorkers = 5
)

// queue is a task queue as Temporal describes it.
type queue struct {
	name string
	// workflows and activities are the workers that poll for each kind of task.
	workflows, activities []*taskqueuepb.PollerInfo
	// waiting is the number of tasks that no worker has taken.
	waiting int64
}

// checkWorkers looks at the task queue of the workers, at those of models and MCP servers in the configuration, and at those of the agents that
// are running.
func checkWorkers(ctx context.Context, p *patient) []object.Finding {
	name, err := p.flags.TaskQueue()
	if err != nil { // the check of the configuration says what is wrong with it
		return []object.Finding{unchecked("the workers: the configuration, which has the name of their task queue, cannot be read; name it with --task-queue")}
	}
	var found []object.Finding
	main, err := p.describeQueue(ctx, name)
	if err != nil {
		return []object.Finding{failed("describe the task queue "+name, err)}
	}
	found = append(found, judgeWorkers(main)...)
	for _, of := range ownQueues(p.cfg, name) {
		its, err := p.describeQueue(ctx, of.name)
		switch {
		case err != nil:
			found = append(found, failed("describe the task queue "+of.name, err))
		case len(its.activities) == 0:
			found = append(found, wrong(fmt.Sprintf("no worker serves the task queue %s, on which %s run", of.name, of.what), of.cure))
		default:
			found = append(found, well("%s: %s", of.name, plural.Of(len(its.activities), "worker")))
		}
	}
	return append(found, p.otherQueues(ctx, name)...)
}

func (p *patient) describeQueue(ctx context.Context, name string) (queue, error) {
	q := queue{name: name}
	for kind, pollers := range map[enumspb.TaskQueueType]*[]*taskqueuepb.PollerInfo{
		enumspb.TASK_QUEUE_TYPE_WORKFLOW: &q.workflows, enumspb.TASK_QUEUE_TYPE_ACTIVITY: &q.activities,
	} {
		found, err := p.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: p.flags.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name}, TaskQueueType: kind, ReportStats: true,
		})
		if err != nil {
			return q, err
		}
		q.waiting += found.GetStats().GetApproximateBacklogCount()
		for _, poller := range found.GetPollers() {
			if time.Since(poller.GetLastAccessTime().AsTime()) < polledWithin {
				*pollers = append(*pollers, poller)
			}
		}
		slices.SortFunc(*pollers, func(a, b *taskqueuepb.PollerInfo) int { return strings.Compare(a.GetIdentity(), b.GetIdentity()) })
	}
	return q, nil
}

// startWorker is the cure for a task queue without workers.
var startWorker = "start a worker: `" + progress.StartWorker + "`"

// judgeWorkers judges the task queue of agents.
func judgeWorkers(q queue) []object.Finding {
	waiting := ""
	if q.waiting > 0 {
		waiting = fmt.Sprintf(", and about %s %s for one", plural.Of(int(q.waiting), "task"), verb(int(q.waiting), "waits", "wait"))
	}
	if len(q.workflows) == 0 {
		return []object.Finding{wrong(fmt.Sprintf("no worker serves the task queue %s%s", q.name, waiting), startWorker+", or name its task queue with --task-queue", progress.StartWorker)}
	}
	var names []string
	versions, definitions := map[string]bool{}, map[string]bool{}
	for _, poller := range q.workflows {
		identity, digest, named := strings.Cut(poller.GetIdentity(), protocol.DigestMark)
		if named {
			definitions[digest] = true
		}
		version := versionOf(poller)
		versions[version] = true
		name := printable.Line(identity, 80)
		if version != "" {
			name += " (" + version + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	listed := strings.Join(names[:min(len(names), maxWorkers)], ", ")
	if more := len(names) - maxWorkers; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	found := []object.Finding{well("%s: %s: %s", q.name, plural.Of(len(names), "worker"), listed)}
	if len(q.activities) == 0 {
		found = append(found, wrong(fmt.Sprintf("no worker takes the calls on the task queue %s%s", q.name, waiting), startWorker, progress.StartWorker))
	}
	if versions[""] && len(versions) > 1 {
		found = append(found, warn(fmt.Sprintf("some workers of %s have a version and others have none: only those with the current version get new agents", q.name),
			"start all workers with --deployment and --build-id, or none: see docs/deploys.md"))
	}
	if len(definitions) > 1 && len(versions) == 1 {
		found = append(found, warn(fmt.Sprintf("the workers of %s define their agents in %d ways, and a new agent gets its definition from any of them", q.name, len(definitions)),
			"give all workers the same configuration, unless you are rolling out a change"))
	}
	return found
}

// versionOf returns the worker deployment version of a worker; empty if it has none.
func versionOf(poller *taskqueuepb.PollerInfo) string {
	o := poller.GetDeploymentOptions()
	if o.GetWorkerVersioningMode() != enumspb.WORKER_VERSIONING_MODE_VERSIONED {
		return ""
	}
	return printable.Line(o.GetDeploymentName()+", build "+o.GetBuildId(), 80)
}

// ownQueue is a task queue besides that of the agents.
type ownQueue struct{ name, what, cure string }

// ownQueues returns the task queues of models with a limit of requests, and of stateful MCP servers.
func ownQueues(cfg *config.Config, main string) []ownQueue {
	if cfg == nil {
		return nil
	}
	var all []ownQueue
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		if cfg.Models[name].RequestsPerMinute > 0 && serves(cfg, func(a config.Agent) bool { return slices.Contains(a.Models(), name) }) {
			all = append(all, ownQueue{protocol.ModelQueue(main, name), "the calls of the model " + name, "start a worker with this configuration, in which the model has rate.requests_per_minute"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		ofServer := func(entry string) bool { server, _ := config.SplitTool(entry); return server == name }
		if cfg.MCPServers[name].Stateful && serves(cfg, func(a config.Agent) bool { return slices.ContainsFunc(a.ToolEntries(), ofServer) }) {
			all = append(all, ownQueue{protocol.ServerQueue(main, name), "the calls of the MCP server " + name, "start one worker with --stateful all or --stateful " + name})
		}
	}
	return all
}

func serves(cfg *config.Config, uses func(config.Agent) bool) bool {
	for _, a := range cfg.Agents {
		if uses(a) {
			return true
		}
	}
	return false
}

// otherQueues looks for running agents on task queues that no worker serves.
func (p *patient) otherQueues(ctx context.Context, main string) []object.Finding {
	agents := map[string]int{}
	listed := 0
	for e, err := range p.agents.List(ctx, client.ListOptions{Statuses: []client.Status{client.Running}}) {
		if err != nil {
			return []object.Finding{failed("list the running agents", err)}
		}
		if listed++; listed > maxListed {
			break
		}
		agents[e.TaskQueue]++
	}
	var found []object.Finding
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if name == main {
			continue
		}
		q, err := p.describeQueue(ctx, name)
		switch {
		case err != nil:
			found = append(found, failed("describe the task queue "+name, err))
		case len(q.workflows) == 0:
			found = append(found, wrong(fmt.Sprintf("no worker serves the task queue %s, which has %s that %s", name, plural.Of(agents[name], "agent"), verb(agents[name], "runs", "run")),
				"start a worker with this task_queue in its configuration, or end its agents: `starter list --running`", "starter list --running"))
		}
	}
	if listed > maxListed {
		found = append(found, unchecked(fmt.Sprintf("the task queues of further agents: only those of the newest %d that run were looked at", maxListed)))
	}
	return found
}
