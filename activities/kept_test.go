package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// slow is a tool with calls that block until the test closes the channel open, or until they are cancelled.
type slow struct {
	calls     atomic.Int32
	arrived   chan struct{} // receives one value for each call
	open      chan struct{}
	cancelled atomic.Bool
}

func newSlow() *slow { return &slow{arrived: make(chan struct{}, 10), open: make(chan struct{})} }

func (s *slow) Spec() tool.Spec {
	return tool.Spec{Name: "slow", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (s *slow) Call(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	s.calls.Add(1)
	s.arrived <- struct{}{}
	select {
	case <-s.open:
		return tool.Result{Content: "done"}, nil
	case <-ctx.Done():
		s.cancelled.Store(true)
		return tool.Result{}, ctx.Err()
	}
}

func (s *slow) call() protocol.CallToolInput {
	return protocol.CallToolInput{CallID: "c1", Ref: "slow", Arguments: `{}`}
}

// A worker stores each result for later attempts, because the report of the first attempt may be lost.
func TestResultIsKeptForTheNextAttempt(t *testing.T) {
	far := newSlow()
	close(far.open)
	s := newStage(t, llmtest.Script(llmtest.Say("once")), far)
	for attempt := range int32(3) {
		got, err := s.attempt(attempt + 1).call(far.call())
		require.NoError(t, err)
		require.Equal(t, protocol.ToolResult{Content: "done"}, got)
	}
	require.Equal(t, int32(1), far.calls.Load())

	s.say(llm.User, "hello")
	in := s.input(1)
	for attempt := range int32(3) {
		reply, err := s.attempt(attempt + 1).ask(in)
		require.NoError(t, err)
		require.Equal(t, "once", reply.Message.Content)
	}
	require.Len(t, s.model.Requests(), 1)
}

// A restarted worker with the same folder has the results of the worker before it.
func TestResultIsKeptInAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keep")
	far := newSlow()
	close(far.open)
	worker := func() *stage {
		s := newStage(t, llmtest.Script(llmtest.Say("once")), far)
		var err error
		s.doing, err = activities.New(activities.Options{Temporal: s.workflow, Tools: newRegistry(t, far), ResultsDir: dir})
		require.NoError(t, err)
		s.open()
		return s
	}
	got, err := worker().call(far.call())
	require.NoError(t, err)
	require.Equal(t, protocol.ToolResult{Content: "done"}, got)
	again, err := worker().attempt(2).call(far.call())
	require.NoError(t, err)
	require.Equal(t, got, again)
	require.Equal(t, int32(1), far.calls.Load())

	// A file that cannot be decoded is ignored.
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, os.WriteFile(files[0], []byte(`{"content": "do`), 0o600))
	_, err = worker().attempt(2).call(far.call())
	require.Equal(t, protocol.Unavailable, failure(t, err).Type())
}

func newRegistry(t *testing.T, tools ...tool.Tool) *tool.Registry {
	r := new(tool.Registry)
	for _, each := range tools {
		require.NoError(t, r.Add(each))
	}
	return r
}

// An at-most-once tool does not run again after a lost attempt. It may run after attempts that reported their end, because they
// did not run it.
func TestLostAttemptAtAnAtMostOnceToolIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		attempt int32
		before  protocol.Progress
		runs    int32
		want    protocol.ToolResult
		pause   time.Duration
	}{
		"first":                       {attempt: 1, runs: 1, want: protocol.ToolResult{Content: "done"}},
		"after attempts that did not": {attempt: 4, before: protocol.Progress{Tried: 3, Reported: 3}, runs: 1, want: protocol.ToolResult{Content: "done"}},
		"after a lost one":            {attempt: 2, pause: 250 * time.Millisecond},
		"after both":                  {attempt: 5, before: protocol.Progress{Reported: 3, Sought: 3}, pause: time.Second},
		"in the end":                  {attempt: 6, before: protocol.Progress{Reported: 4, Sought: 4}, want: protocol.LostTool()},
	} {
		t.Run(name, func(t *testing.T) {
			far := newSlow()
			close(far.open)
			s := newStage(t, llmtest.Script(), far)
			s = s.attempt(c.attempt)
			s.SetHeartbeatDetails(c.before)
			got, err := s.call(far.call())
			require.Equal(t, c.runs, far.calls.Load())
			if c.pause == 0 {
				require.NoError(t, err)
				require.Equal(t, c.want, got)
				require.Empty(t, s.workflow.heard())
				return
			}
			failed := failure(t, err)
			require.False(t, failed.NonRetryable())
			require.Equal(t, c.pause, failed.NextRetryDelay())
			require.Equal(t, temporal.ApplicationErrorCategoryBenign, failed.Category())
			heard := s.workflow.heard()
			require.Len(t, heard, 1)
			require.Equal(t, c.before.Reported+1, heard[0].Reported, "the attempt reports its end")
			require.Equal(t, c.before.Sought+1, heard[0].Sought)
			require.Equal(t, "slow {}", heard[0].Doing, "the Web UI shows what is done")
		})
	}
}

// An effect that crashes its worker is given up after five lost attempts, although none of these attempts reported its end.
func TestEffectThatTakesWorkersDownIsGivenUp(t *testing.T) {
	lost := &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{
		TimeoutType: enumspb.TIMEOUT_TYPE_HEARTBEAT,
	}}}
	refused := &failurepb.Failure{FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{}}}
	missed := &failurepb.Failure{FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: protocol.CallMissed},
	}}
	for name, c := range map[string]struct {
		attempt  int32
		reported int
		last     *failurepb.Failure
		runs     bool
		tried    int
	}{
		"three failed":                        {attempt: 4, reported: 3, last: refused, runs: true, tried: 3},
		"four lost":                           {attempt: 5, last: lost, runs: true},
		"five lost":                           {attempt: 6, last: lost},
		"five lost, the last not begun":       {attempt: 6, last: missed, runs: true},
		"four lost of five":                   {attempt: 6, reported: 1, last: lost, runs: true},
		"five without a report, the last not": {attempt: 6, last: refused, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			far := newSlow()
			close(far.open)
			s := newStage(t, llmtest.Script(llmtest.Say("hello")), far)
			s.workflow.failure = c.last
			first := s.attempt(c.attempt)
			first.SetHeartbeatDetails(protocol.Progress{Reported: c.reported})
			in := far.call()
			in.ToolEffect = string(tool.ReadOnly)
			got, err := first.call(in)
			require.NoError(t, err)
			require.Equal(t, !c.runs, got.Lost())
			require.Equal(t, c.runs, far.calls.Load() == 1)

			s.say(llm.User, "hello")
			asks := s.input(1)
			second := s.attempt(c.attempt)
			second.SetHeartbeatDetails(protocol.Progress{Reported: c.reported, Tried: c.tried})
			reply, err := run[protocol.ModelResult](second, protocol.CallModel, asks)
			require.Equal(t, c.runs, len(s.model.Requests()) == 1)
			if c.runs {
				lost := int(c.attempt) - 1 - c.reported
				require.Equal(t, agent.Repeats{Attempts: max(lost, c.tried), Lost: lost}, reply.Repeats)
			}
			if !c.runs {
				require.Equal(t, protocol.WorkerLost, failure(t, err).Type())
				require.True(t, failure(t, err).NonRetryable())
				require.ErrorContains(t, err, "the worker was lost 5 times")
			}

			s.named.key = "definition-1"
			third := s.attempt(c.attempt)
			third.SetHeartbeatDetails(protocol.Progress{Reported: c.reported})
			_, err = third.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: "y"})
			if c.runs {
				require.NoError(t, err)
			} else {
				require.Equal(t, protocol.WorkerLost, failure(t, err).Type())
				require.True(t, failure(t, err).NonRetryable())
			}
		})
	}
}

// When an attempt ends, its effect continues if another attempt may need it. Otherwise it is cancelled.
func TestEffectOutlivesItsAttempt(t *testing.T) {
	notFound := serviceerror.NewNotFound("the attempt is not known")
	for name, c := range map[string]struct {
		first, second error // the answers to the heartbeats of the attempts
		status        enumspb.WorkflowExecutionStatus
		joins         bool // there is a second attempt
		cancelled     bool
	}{
		"network fails":                               {first: serviceerror.NewUnavailable("no network")},
		"attempt is given up":                         {first: notFound, status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
		"run is terminated":                           {first: notFound, status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		"run has completed":                           {first: notFound, status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, cancelled: true},
		"run has continued as new":                    {first: notFound, status: enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, cancelled: true},
		"workflow cancels":                            {first: temporal.NewCanceledError(), cancelled: true},
		"attempt is given up, another comes":          {first: notFound, joins: true},
		"attempt is given up, another is cancelled":   {first: notFound, second: temporal.NewCanceledError(), joins: true, cancelled: true},
		"one run cancels, another waits":              {first: temporal.NewCanceledError(), joins: true},
		"the network fails for both, then it is back": {first: errors.New("no network"), second: errors.New("no network"), joins: true},
	} {
		t.Run(name, func(t *testing.T) {
			far := newSlow()
			s := newStage(t, llmtest.Script(), far)
			s.named.timeout = 30 * time.Millisecond
			var tell atomic.Bool // if false, all heartbeats are accepted; if true, they get the answers of the case
			var mu sync.Mutex
			told := map[int32]int{}
			s.workflow.status = c.status
			s.workflow.answer = func(attempt int32) error {
				mu.Lock()
				defer mu.Unlock()
				if !tell.Load() {
					return nil
				}
				told[attempt]++
				return map[int32]error{1: c.first, 2: c.second}[attempt]
			}
			heard := func(attempt int32) func() bool {
				return func() bool { mu.Lock(); defer mu.Unlock(); return told[attempt] > 0 }
			}
			type end struct {
				result protocol.ToolResult
				err    error
			}
			begin := func(attempt int32) <-chan end {
				ended := make(chan end, 1)
				stage := s.attempt(attempt)
				go func() {
					result, err := stage.call(far.call())
					ended <- end{result, err}
				}()
				return ended
			}
			first := begin(1)
			<-far.arrived
			var second <-chan end
			if c.joins {
				second = begin(2)
				require.Eventually(t, func() bool { // the heartbeats of the second attempt contain the progress of the effect
					for _, p := range s.workflow.heard() {
						if p.Attempt == 2 && p.Tried == 1 {
							return true
						}
					}
					return false
				}, time.Minute, time.Millisecond)
			}
			tell.Store(true)
			require.Eventually(t, heard(1), time.Minute, time.Millisecond)
			if c.joins {
				require.Eventually(t, heard(2), time.Minute, time.Millisecond)
			}
			if !c.cancelled {
				close(far.open)
			}
			got := <-first
			require.Equal(t, c.cancelled, far.cancelled.Load())
			want := protocol.ToolResult{Content: "done"}
			if c.cancelled {
				want = protocol.LostTool()
			}
			require.NoError(t, got.err)
			require.Equal(t, want, got.result)
			if c.joins && c.second == nil {
				got := <-second
				require.NoError(t, got.err)
				require.Equal(t, want, got.result)
			} else if c.joins {
				<-second
			}
			require.Equal(t, int32(1), far.calls.Load())
		})
	}
}

// After a suspension, a worker asks Temporal whether the attempt is still alive before it calls a model or a tool. Otherwise it
// does not ask.
func TestNothingIsSentForAnAttemptThatIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		frozen time.Duration
		answer error
		sends  bool
		beats  int
	}{
		"not frozen":                           {sends: true},
		"frozen, and still its own":            {frozen: time.Minute, sends: true, beats: 1},
		"frozen, and given up":                 {frozen: time.Minute, answer: serviceerror.NewNotFound("no such attempt"), beats: 1},
		"frozen, and cancelled":                {frozen: time.Minute, answer: temporal.NewCanceledError(), beats: 1},
		"frozen, and Temporal does not answer": {frozen: time.Minute, answer: serviceerror.NewUnavailable("no network"), beats: 2},
	} {
		t.Run(name, func(t *testing.T) {
			far := newSlow()
			close(far.open)
			s := newStage(t, llmtest.Script(llmtest.Say("hello")), far)
			s.workflow.answer = func(int32) error { return c.answer }
			s.named.timeout = time.Hour
			s.named.started = time.Now().Add(-c.frozen * 60)
			_, err := s.call(far.call())
			require.Equal(t, c.sends, err == nil)
			require.Equal(t, c.sends, far.calls.Load() == 1)
			require.Len(t, s.workflow.heard(), c.beats)

			s.say(llm.User, "hello")
			in := s.input(1)
			_, err = s.ask(in)
			require.Equal(t, c.sends, err == nil)
			require.Equal(t, c.sends, len(s.model.Requests()) == 1)
			require.Len(t, s.workflow.heard(), 2*c.beats)
		})
	}
}
