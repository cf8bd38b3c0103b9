package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// settled is how long a poll must be open to show that the server has accepted it after an earlier one failed.
const settled = time.Second

// polls watches the requests with which the Temporal workers of this process ask for work. It is safe for concurrent use.
type polls struct {
	mu    sync.Mutex
	kinds map[pollKind]*pollState
}

type pollKind struct {
	activities bool
	queue      string
}

type pollState struct {
	count  int               // of the polls until now
	open   map[int]time.Time // when each poll that has no answer yet began
	ended  bool              // a poll has ended
	failed bool              // the last one that ended has failed
}

func newPolls() *polls { return &polls{kinds: map[pollKind]*pollState{}} }

// intercept is an interceptor of gRPC. It comes below the one that repeats requests, so it sees each try.
func (p *polls) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	var kind pollKind
	switch r := req.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		kind.queue = r.GetTaskQueue().GetName()
	case *workflowservice.PollActivityTaskQueueRequest:
		kind = pollKind{activities: true, queue: r.GetTaskQueue().GetName()}
	default:
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	end := p.begin(kind, time.Now())
	err := invoke(ctx, method, req, reply, cc, opts...)
	end(err != nil, errors.Is(ctx.Err(), context.Canceled))
	return err
}

// begin begins a poll. The returned function ends it.
func (p *polls) begin(kind pollKind, now time.Time) (end func(failed, stopped bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.kinds[kind]
	if s == nil {
		s = &pollState{open: map[int]time.Time{}}
		p.kinds[kind] = s
	}
	s.count++
	poll := s.count
	s.open[poll] = now
	return func(failed, stopped bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(s.open, poll)
		if !failed || !stopped { // a poll that this process has stopped says nothing about the server
			s.ended, s.failed = true, failed
		}
	}
}

// working reports whether each kind of work is being asked for. While all slots of a worker are in use, it asks for none, and works.
func (p *polls) working(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var workflows, activities bool
	for kind, s := range p.kinds {
		if !s.working(now) {
			return false
		}
		workflows, activities = workflows || !kind.activities, activities || kind.activities
	}
	return workflows && activities
}

func (s *pollState) working(now time.Time) bool {
	if !s.failed {
		return s.ended || len(s.open) > 0
	}
	for _, began := range s.open {
		if now.Sub(began) >= settled {
			return true
		}
	}
	return false
}
