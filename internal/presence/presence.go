// Package presence lets the workers of a task queue see that one of them is lost, and return its calls to Temporal, which gives them to
// others. It needs Temporal's worker heartbeats, which not every namespace has. Temporal Cloud does not bill them. It bills the heartbeats of
// activities.
//
// A worker sends its heartbeats by itself, and not by the SDK's option WorkerHeartbeatInterval: so a program needs no option of its client,
// heartbeats go on until the last call has ended, the worker knows which of them Temporal has accepted, and they come twice a second.
package presence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reagent-dev/reagent/internal/version"
)

const (
	// beatInterval is the time between two heartbeats of a worker.
	beatInterval = 500 * time.Millisecond
	// startTimeout limits [Presence.Start], because the worker starts only after it.
	startTimeout = 5 * time.Second
	// sdkName distinguishes these heartbeats from those of the SDK, which every worker sends once a minute.
	sdkName = "reagent"
)

// Options are the options of [New]. All fields are required.
type Options struct {
	Temporal client.Client
	// TaskQueue is the task queue of the agents.
	TaskQueue string
	Log       *slog.Logger
}

// Presence shows other workers that this one lives, and returns the calls of those that do not. It is safe for concurrent use. A nil
// Presence, and one that has not started, do nothing.
type Presence struct {
	temporal  client.Client
	taskQueue string
	log       *slog.Logger
	key       string
	began     time.Time

	// beats says that heartbeats are sent, and on that lists have them.
	beats, on atomic.Bool
	namespace string
	// namespaceID is part of the task tokens of activities: see [Token].
	namespaceID string
	identity    string
	// searchable says that the namespace has the search attributes of agents.
	searchable bool
	stop       context.CancelFunc
	running    sync.WaitGroup

	// sending is locked while a request is under way, so that Temporal accepts heartbeats in their order, and a list has the last one.
	sending sync.Mutex
	last    time.Time // of the clock of this machine, in the last heartbeat

	mu    sync.Mutex
	gate  gate
	watch *watch
	// own is the last heartbeat that Temporal has accepted: see [beatOf].
	own string
	// asked is when the last list was asked for from which watch knows who is lost.
	asked time.Time
}

// New returns a Presence. It asks nothing of Temporal.
func New(o Options) *Presence {
	p := &Presence{temporal: o.Temporal, taskQueue: o.TaskQueue, log: o.Log, key: uuid.NewString(), began: time.Now()}
	p.watch = newWatch(p.key)
	return p
}

// Start begins to send heartbeats and to watch the other workers, until [Presence.Stop]. The worker must not take tasks before. `identity` is
// the identity with which it takes them. `shared` says that another process may have the same identity. Start returns an error if
// Temporal or the namespace does not offer what it needs.
func (p *Presence) Start(ctx context.Context, identity string, shared bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p.identity, p.gate.shared = identity, shared
	if err := p.find(ctx); err != nil {
		return err
	}
	err := p.beat(ctx, enumspb.WORKER_STATUS_RUNNING)
	if refused(err) {
		return err
	}
	// From here on others may know this worker, so the heartbeats must go on.
	p.beats.Store(true)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	if err == nil {
		err = p.list(ctx)
	}
	p.on.Store(err == nil)
	p.running.Go(func() { p.run(running) })
	return err
}

// refused reports whether Temporal accepts no heartbeats of this worker.
func refused(err error) bool {
	return errors.As(err, new(*serviceerror.Unimplemented)) || errors.As(err, new(*serviceerror.PermissionDenied))
}

// On reports whether the workers of the task queue see soon that one of them is lost.
func (p *Presence) On() bool { return p != nil && p.on.Load() }

// Stop ends the heartbeats, and tells the others that this worker has no calls. It must be called after the last call has ended.
func (p *Presence) Stop() {
	if !p.beats.Load() {
		return
	}
	p.stop()
	p.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	// If this fails, another worker looks for calls, and finds none.
	_ = p.beat(ctx, enumspb.WORKER_STATUS_SHUTDOWN)
}

// find reads what the worker needs to know about the namespace.
func (p *Presence) find(ctx context.Context) error {
	// A Temporal client does not tell its namespace, but it writes it into a request without one.
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1, Query: p.query(true)}
	_, err := p.temporal.ListWorkflow(ctx, request)
	p.searchable, p.namespace = err == nil, request.GetNamespace()
	if p.namespace == "" {
		return fmt.Errorf("find the namespace of the Temporal client: %w", err)
	}
	found, err := p.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.namespace})
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", p.namespace, err)
	}
	if !found.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		return errors.New("the namespace has no worker heartbeats")
	}
	p.namespaceID = found.GetNamespaceInfo().GetId()
	if _, err := p.temporal.WorkflowService().ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: p.namespace, PageSize: 1}); err != nil {
		return fmt.Errorf("list the workers: %w", err)
	}
	return nil
}

func (p *Presence) run(ctx context.Context) {
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	var searching sync.WaitGroup
	defer searching.Wait()
	var beats, lists time.Time // of the next ones
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if now := time.Now(); !now.Before(beats) {
			beats = now.Add(beatInterval - often/2) // the tick after beatInterval may come a little early
			if err := p.beat(ctx, enumspb.WORKER_STATUS_RUNNING); err != nil {
				p.log.DebugContext(ctx, "a heartbeat of this worker was not accepted", "error", err)
				continue
			}
		}
		if time.Now().Before(lists) {
			continue
		}
		if err := p.list(ctx); err != nil {
			p.log.DebugContext(ctx, "the other workers could not be listed", "error", err)
			continue
		}
		p.mu.Lock()
		lists = time.Now().Add(p.watch.pause() - often/2)
		lost := p.watch.due(time.Since(p.began))
		p.mu.Unlock()
		if len(lost) > 0 {
			searching.Go(func() {
				p.returnCalls(ctx, lost)
				p.mu.Lock()
				defer p.mu.Unlock()
				p.watch.searched(lost, time.Since(p.began))
			})
		}
	}
}

// beat sends a heartbeat.
func (p *Presence) beat(ctx context.Context, status enumspb.WorkerStatus) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	began := time.Now()
	p.mu.Lock()
	p.gate.try(began)
	p.mu.Unlock()
	at := began
	if !at.After(p.last) {
		at = p.last.Add(time.Nanosecond) // the clock was set back
	}
	p.last = at
	host, _ := os.Hostname() // empty after an error
	heartbeat := &workerpb.WorkerHeartbeat{
		WorkerInstanceKey: p.key, WorkerIdentity: p.identity, TaskQueue: p.taskQueue, SdkName: sdkName, SdkVersion: version.String(), Status: status,
		HostInfo:  &workerpb.WorkerHostInfo{HostName: host, ProcessId: strconv.Itoa(os.Getpid())},
		StartTime: timestamppb.New(p.began), HeartbeatTime: timestamppb.New(at),
	}
	_, err := p.temporal.WorkflowService().RecordWorkerHeartbeat(ctx, &workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: p.namespace, Identity: p.identity, WorkerHeartbeat: []*workerpb.WorkerHeartbeat{heartbeat}, ResourceId: "worker:" + p.key,
	})
	if err != nil {
		return fmt.Errorf("send a heartbeat of this worker: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate.accepted(began, time.Now())
	p.own = beatOf(heartbeat)
	return nil
}

// beatOf returns the text that identifies a heartbeat of a worker.
func beatOf(h *workerpb.WorkerHeartbeat) string { return h.GetHeartbeatTime().String() }

// list reads the heartbeats of all workers. It returns an error if they lack the last one of this worker.
func (p *Presence) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p.mu.Lock()
	asked := time.Now()
	l := list{asked: asked.Sub(p.began), beat: p.own}
	p.mu.Unlock()
	request := &workflowservice.ListWorkersRequest{Namespace: p.namespace, Query: fmt.Sprintf("TaskQueue = %s AND SdkName = '%s'", quote(p.taskQueue), sdkName)}
	for {
		found, err := p.temporal.WorkflowService().ListWorkers(ctx, request)
		if err != nil {
			return fmt.Errorf("list the workers: %w", err)
		}
		for _, info := range found.GetWorkersInfo() { //nolint:staticcheck // what is to replace it has no times
			h := info.GetWorkerHeartbeat()
			l.rows = append(l.rows, row{
				key: h.GetWorkerInstanceKey(), identity: h.GetWorkerIdentity(), beat: beatOf(h), ended: h.GetStatus() == enumspb.WORKER_STATUS_SHUTDOWN,
			})
		}
		if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	l.got = time.Since(p.began)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.watch.see(l) {
		return errors.New("the list of workers lacks the last heartbeat of this one")
	}
	p.asked = asked
	return nil
}

// lost reports whether all workers with an identity are lost, by a list that is not too old to act on it.
func (p *Presence) lost(identity string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watch.gone(identity) && Age(p.asked) < decideWithin
}

// Confirm returns nil if no other worker can have returned the call to Temporal. Call it directly before the call. `contact` is the start of
// the last request that Temporal has answered by saying that the call belongs to this worker, and own asks Temporal whether it does.
// Usually, Confirm sends no request. After a gap in the heartbeats, it waits until the other workers have returned what they return.
func (p *Presence) Confirm(ctx context.Context, contact time.Time, own func(context.Context) error) error {
	if p == nil || !p.beats.Load() {
		return nil
	}
	for {
		p.mu.Lock()
		next, settled := p.gate.next(time.Now(), contact), p.gate.settled
		p.mu.Unlock()
		switch next {
		case begin:
			return nil
		case beat:
			if err := p.beat(ctx, enumspb.WORKER_STATUS_RUNNING); refused(err) {
				return own(ctx) // the namespace has lost its worker heartbeats
			} else if err != nil {
				return err
			}
		case wait:
			select {
			case <-time.After(time.Until(settled)):
			case <-ctx.Done():
				return ctx.Err()
			}
		case look:
			asked := time.Now()
			if err := own(ctx); err != nil {
				return err
			}
			contact = asked
		}
	}
}
