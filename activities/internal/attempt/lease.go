package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// lease lets all calls of a worker share one heartbeat: see [protocol.LeaseWorkflow]. The worker takes a lease when a call
// begins, and gives it up soon after the last call has ended. A lease is safe for concurrent use. A nil lease covers no call.
type lease struct {
	client client.Client
	// taskQueue is the task queue of the agents. queue is the task queue that only this worker serves.
	taskQueue, queue string
	heartbeatTimeout time.Duration
	log              *slog.Logger
	// began gets a value each time a call begins.
	began chan struct{}
	// ended gets a value each time the activity that holds the lease has ended.
	ended chan struct{}
	// quit is closed when [Worker.RunLease] ends. The lease is then given up.
	quit chan struct{}

	// sending is locked while a heartbeat is sent, so that heartbeats are accepted in the order of their contents.
	sending sync.Mutex

	mu sync.Mutex
	// calls holds the calls in flight. The value is true if a heartbeat has named the call.
	calls map[*Attempt]bool
	// id is the workflow ID of the lease for which the worker asked last. The worker accepts no other lease, because it sends heartbeats
	// for one only. A second lease would get none, so Temporal would take the worker for lost, and another worker would return its calls.
	id string
	// token is the task token of the activity that holds the lease. It is nil if the worker holds none.
	token []byte
	// contact is the start of the last request that Temporal has answered by saying that the worker holds the lease.
	contact time.Time
}

func newLease(temporal client.Client, taskQueue string, heartbeatTimeout time.Duration, log *slog.Logger) *lease {
	return &lease{
		client: temporal, taskQueue: taskQueue, queue: taskQueue + ".lease." + uuid.NewString(), heartbeatTimeout: heartbeatTimeout, log: log,
		began: make(chan struct{}, 1), ended: make(chan struct{}, 1), quit: make(chan struct{}), calls: map[*Attempt]bool{},
	}
}

// maxHeld is the largest number of calls that a heartbeat names. The others have only their own heartbeats. A heartbeat then has
// less than half of Temporal's limit for a payload, 2 MB.
const maxHeld = 5000

func (l *lease) add(a *Attempt) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.calls[a] = false
	l.mu.Unlock()
	signal(l.began)
}

func (l *lease) remove(a *Attempt) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, a)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *lease) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) == 0
}

// RunLease takes leases for the calls of this worker until the context ends. It must be called once if the options of the worker
// have a lease, while a worker of the task queue [Worker.LeaseQueue] runs [Worker.HoldLease]. If Temporal cannot be
// reached, RunLease tries again after a second. The calls then have only their own heartbeats.
func (w *Worker) RunLease(ctx context.Context) {
	l := w.lease
	defer close(l.quit)
	for {
		select {
		case <-l.began:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil && !l.idle() {
			if err := l.take(ctx); err != nil {
				l.log.WarnContext(ctx, "the worker has no lease, so another worker takes over its calls later if this worker is lost", "error", err)
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		}
	}
}

func (l *lease) take(ctx context.Context) error {
	select {
	case <-l.ended: // of an earlier lease
	default:
	}
	id := "reagent-lease-" + uuid.NewString()
	l.expect(id)
	defer l.expect("")
	_, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: l.taskQueue, StaticSummary: "calls of the worker with the task queue " + l.queue,
	}, protocol.LeaseWorkflow, protocol.LeaseInput{TaskQueue: l.queue, HeartbeatTimeoutMS: l.heartbeatTimeout.Milliseconds()})
	if err != nil && !l.held() { // the answer may be lost although the lease has begun
		return fmt.Errorf("start a lease: %w", err)
	}
	for {
		select {
		case <-l.ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
			if !l.held() {
				return errors.New("the lease has not begun within a minute; check that the worker of the agents' task queue is running")
			}
		}
	}
}

// expect sets the workflow ID of the only lease that the worker accepts. If the ID is empty, the worker accepts no lease.
func (l *lease) expect(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
}

func (l *lease) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token != nil
}

// hold makes a lease the lease of this worker. `info` describes the attempt at [Worker.HoldLease] that holds it. hold returns
// false if the worker has not asked for this lease, has asked for another one since, or holds one already.
func (l *lease) hold(info activity.Info) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info.WorkflowExecution.ID != l.id || l.token != nil {
		return false
	}
	l.token, l.contact = info.TaskToken, time.Now()
	if started := info.StartedTime; !started.IsZero() && started.Before(l.contact) {
		l.contact = l.contact.Add(-l.contact.Sub(started)) // the process may have been suspended since
	}
	return true
}

// beatBurst is the number of heartbeats that a lease may send at once. On average it sends at most one a second, plus those that a
// heartbeat timeout of less than 2 seconds needs.
const beatBurst = 10

// HoldLease holds the lease of this worker. It sends two heartbeats within the heartbeat timeout, and one when a call has begun. If
// many calls begin, one heartbeat names all that have begun within a second. HoldLease returns when no call is in flight at the time
// of a heartbeat, when Temporal has ended the lease, or when the worker stops. If the worker does not accept the lease (see [lease.hold]),
// HoldLease returns at once.
func (w *Worker) HoldLease(ctx context.Context) error {
	l := w.lease
	if !l.hold(activity.GetInfo(ctx)) {
		return nil
	}
	defer signal(l.ended)
	pace := rate.NewLimiter(1, beatBurst)
	for reserved := false; ; {
		if !reserved {
			pace.Reserve() // a heartbeat that the heartbeat timeout needs does not wait
		}
		reserved = false
		next := time.Now().Add(l.heartbeatTimeout / 2)
		if l.beat(ctx) != nil {
			next = time.Now().Add(l.heartbeatTimeout / 8)
		}
		for wait := true; wait; {
			select {
			case <-time.After(time.Until(next)):
				wait = false
			case <-l.began:
				if reserved {
					continue
				}
				turn := pace.Reserve()
				if soon := time.Now().Add(turn.Delay()); soon.Before(next) {
					next, reserved = soon, true
				} else {
					turn.Cancel()
				}
			case <-l.quit:
				l.release(false)
				return nil
			case <-ctx.Done():
				l.release(false)
				return ctx.Err()
			}
		}
		if l.release(true) {
			return nil
		}
	}
}

// release gives up the lease and returns true. With `onlyIdle`, it keeps the lease and returns false while calls are in flight.
func (l *lease) release(onlyIdle bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != nil && onlyIdle && len(l.calls) > 0 {
		return false
	}
	l.token = nil
	for a := range l.calls {
		l.calls[a] = false
	}
	return true
}

// beat sends a heartbeat of the lease, and returns nil if Temporal has accepted it. If Temporal has ended the lease because of
// missing heartbeats, all calls that the heartbeats have named are lost: see [lost].
func (l *lease) beat(ctx context.Context) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	token, held, added := l.name()
	if token == nil {
		return errors.New("the worker has no lease now; the next attempt needs a worker with a lease")
	}
	ctx, cancel := context.WithTimeout(ctx, max(l.heartbeatTimeout/4, minBeatWait))
	defer cancel()
	sent := time.Now()
	err := l.client.RecordActivityHeartbeat(ctx, token, held)
	switch {
	case err == nil:
		l.mu.Lock()
		l.contact = sent
		l.mu.Unlock()
	case temporal.IsCanceledError(err): // a person has cancelled the workflow of the lease
		l.release(false)
	case errors.As(err, new(*serviceerror.NotFound)):
		l.unname(added)
		l.lapse()
	}
	return err
}

// name marks the calls in flight as named, and returns them for the details of a heartbeat. `added` are those that no heartbeat has
// named before. If the worker holds no lease, the token is nil, and nothing is marked.
func (l *lease) name() (token []byte, held protocol.HeldCalls, added []*Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == nil {
		return nil, held, nil
	}
	for a, named := range l.calls {
		if len(held.Calls) == maxHeld {
			break
		}
		if !named {
			added = append(added, a)
		}
		l.calls[a] = true
		run := a.info.WorkflowExecution
		held.Calls = append(held.Calls, protocol.HeldCall{
			WorkflowID: run.ID, RunID: run.RunID, ActivityID: a.info.ActivityID, Attempt: a.info.Attempt, StartedMS: a.info.StartedTime.UnixMilli(),
		})
	}
	return l.token, held, added
}

// unname marks calls as not named, because Temporal has refused the only heartbeat that named them. Nobody returns these calls.
func (l *lease) unname(calls []*Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range calls {
		if _, inFlight := l.calls[a]; inFlight {
			l.calls[a] = false
		}
	}
}

// lapse ends the attempts at all calls that a heartbeat has named, because another worker returns these calls to Temporal.
func (l *lease) lapse() {
	l.mu.Lock()
	var ended []*Attempt
	for a, named := range l.calls {
		if named {
			ended = append(ended, a)
		}
	}
	l.mu.Unlock()
	for _, a := range ended {
		a.finish(lost) // before release: see confirm
	}
	l.release(false)
}

// confirm returns nil if no other worker can have returned the call to Temporal. If the last heartbeat of the lease is too
// old, confirm sends one, which Temporal must accept. A nil lease confirms every call.
func (l *lease) confirm(ctx context.Context, a *Attempt) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	safe := !l.calls[a] || age(l.contact) < l.heartbeatTimeout/2
	l.mu.Unlock()
	switch {
	case !safe:
		return l.beat(ctx)
	case a.ended() != open: // the lease has ended since
		return errors.New("the lease of this worker has ended, so another worker may have this call")
	}
	return nil
}
