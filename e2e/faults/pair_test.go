package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/protocol"
)

// arrival is something that a workflow task brings to the agent.
type arrival struct {
	name string
	// cause makes it happen, and returns when the server has it.
	cause func(*duo)
	// found reports whether an event of a history tells that it came: with the task that follows or, of an
	// update, with the task before.
	found  func(p *duo, e *historypb.HistoryEvent) bool
	update bool
}

// duo is one case: two arrivals in one workflow task.
type duo struct {
	*stage
	situation situation
	clerk     string // the IDs of sub-agents
	chief     string
	pay       string // the ID of the tool's activity
	calls     errgroup.Group
	// accepted are the texts of the messages that the agent has accepted.
	accepted []string
	// refused says that a message or an upgrade was not accepted, and that its sender was told.
	refused atomic.Bool
	began   time.Time // of the timer
	// scheduled are the activities of the history that is looked at, by their events.
	scheduled map[int64]string
}

var (
	cancelling = arrival{
		name:  "cancel",
		cause: func(p *duo) { require.NoError(p.t, p.temporal.CancelWorkflow(p.ctx, p.id, "")) },
		found: ofType(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED),
	}
	message = arrival{name: "message", cause: func(p *duo) { p.send("a message", false) }, found: ofUpdate(protocol.MessageUpdate), update: true}
	upgrade = arrival{
		name: "upgrade", found: ofUpdate(protocol.UpgradeUpdate), update: true,
		cause: func(p *duo) { p.call(func(ctx context.Context) error { return p.agents.Upgrade(ctx, p.id) }) },
	}
	result = arrival{
		name:  "result",
		cause: func(p *duo) { p.complete(p.id, p.pay, protocol.ToolResult{Content: "paid"}) },
		found: func(p *duo, e *historypb.HistoryEvent) bool { return p.completes(e, p.pay) },
	}
	childEnd = arrival{
		name:  "child end",
		cause: func(p *duo) { p.end("chief", p.chief) },
		found: func(p *duo, e *historypb.HistoryEvent) bool { return p.ends(e, p.chief) },
	}
	late = arrival{
		name:  "late answer",
		cause: func(p *duo) { p.end("clerk", p.clerk) },
		found: func(p *duo, e *historypb.HistoryEvent) bool { return p.ends(e, p.clerk) },
	}
	timer = arrival{name: "timer", cause: (*duo).timeIsUp, found: func(p *duo, e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_TIMER_FIRED && e.GetEventTime().AsTime().Sub(p.began) > p.budget/2
	}}
	reset = arrival{name: "reset", cause: (*duo).resetLast, found: func(_ *duo, e *historypb.HistoryEvent) bool {
		return e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId() != ""
	}}
	// first is the first workflow task of a run: it needs nothing to come.
	first = arrival{name: "first task", cause: func(*duo) {}, found: func(_ *duo, e *historypb.HistoryEvent) bool { return e.GetEventId() == 1 }}
)

// situation is where the agent stands when the two arrive.
type situation struct {
	name string
	// fresh says that the task is the first of its run.
	fresh bool
	// large says that its state does not fit into the input of a run.
	large    bool
	arrivals []arrival
	// stopped brings the agent there and leaves it without a worker. Blocked brings it there and leaves it with a
	// worker whose next report of a workflow task is held.
	stopped, blocked func(*duo)
}

var situations = []situation{
	{
		name: "busy", arrivals: []arrival{cancelling, message, upgrade, result, childEnd, late, timer, reset},
		stopped: func(p *duo) { p.become((*stage).busy); p.stop() },
		blocked: func(p *duo) { p.become((*stage).busy); p.block() },
	},
	{
		name: "idle", arrivals: []arrival{cancelling, message, upgrade, late, reset},
		stopped: func(p *duo) { p.become((*stage).idle); p.stop() },
		blocked: func(p *duo) { p.become((*stage).idle); p.block() },
	},
	{
		name: "new", fresh: true, arrivals: []arrival{first, cancelling, message, upgrade},
		stopped: func(p *duo) { p.start() },
		blocked: func(p *duo) { p.start(); p.holdNext(); p.serve(); p.hold.Wait(p.t) },
	},
	{
		name: "continued", fresh: true, arrivals: []arrival{first, cancelling, message, upgrade, late},
		stopped: func(p *duo) { p.become((*stage).idle); p.roll() },
		blocked: func(p *duo) { p.become((*stage).idle); p.rollBlocked() },
	},
	{
		name: "continued with a large state", fresh: true, large: true, arrivals: []arrival{first, cancelling, message, late},
		stopped: func(p *duo) { p.become((*stage).idle); p.grow(); p.roll() },
		blocked: func(p *duo) { p.become((*stage).idle); p.grow(); p.rollBlocked() },
	},
}

// Whatever two things one workflow task brings, in whichever order: the agent can be read, its state is that
// of a replay, a cancel begins nothing, and nothing that was accepted is lost, also not by a resume.
func TestPairsInOneTask(t *testing.T) {
	t.Parallel()
	startDoing(t)
	var cases errgroup.Group
	cases.SetLimit(6)
	var large sync.Mutex // such states take so much time that two at once look like an agent that stands still
	for _, s := range situations {
		for _, a := range s.arrivals {
			for _, b := range s.arrivals {
				if a.name == b.name || b.name == first.name || !allFaults && !representativePair(s, a, b) {
					continue
				}
				for _, blocked := range []bool{false, true} {
					if blocked && (!allFaults || a.name == reset.name || b.name == reset.name) {
						continue // a reset ends the run whose task is held
					}
					cases.Go(func() error {
						name := fmt.Sprintf("%s, then %s, %s", a.name, b.name, s.name)
						if blocked {
							name += ", behind a task"
						}
						if s.large {
							large.Lock()
							defer large.Unlock()
						}
						t.Run(name, func(t *testing.T) { runPair(t, s, a, b, blocked) })
						return nil
					})
				}
			}
		}
	}
	require.NoError(t, cases.Wait())
}

// representativePair reports whether an ordinary run has the pair: one order of each.
func representativePair(s situation, a, b arrival) bool {
	if s.name != "busy" {
		return a.name == first.name && (!s.large || b.name == message.name) || s.name == "idle" && a.name == message.name
	}
	names := func(x arrival) int {
		return slices.IndexFunc(s.arrivals, func(y arrival) bool { return x.name == y.name })
	}
	return names(a) < names(b)
}

func runPair(t *testing.T, s situation, a, b arrival, blocked bool) {
	budget := time.Hour
	for timed := 1500 * time.Millisecond; ; timed *= 2 {
		if a.name == timer.name || b.name == timer.name {
			budget = timed
		}
		p := &duo{situation: s, stage: newStage(t, "pair-"+reagentID(t), budget)}
		if blocked {
			s.blocked(p)
		} else {
			s.stopped(p)
		}
		a.cause(p)
		b.cause(p)
		if blocked {
			p.release()
		} else {
			p.serve()
		}
		if together := p.check(a, b); together || !p.together(a, b, blocked) {
			return
		}
		require.Less(t, budget, 30*time.Second, "%s and %s come in one workflow task", a.name, b.name)
		t.Logf("the timer of %v fired too early; another try", budget)
		p.stop()
	}
}

// reagentID makes an ID of the name of a test.
func reagentID(t testing.TB) string {
	return fmt.Sprintf("%d-%s", rand.Uint32(), strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name()))
}

// become starts the agent and brings it somewhere with a worker.
func (p *duo) become(where func(*stage)) {
	p.start()
	p.serve()
	where(p.stage)
	p.began = time.Now()
	_, err := p.agents.Look(p.ctx, p.id)
	if errors.Is(err, reagent.ErrNoWorker) {
		// It was seen that the SDK's worker, just started, polled no more. An agent that cannot go on fails here all the same.
		p.t.Log("the worker answers no more; another one is started")
		p.stop()
		p.serve()
		_, err = p.agents.Look(p.ctx, p.id)
	}
	require.NoError(p.t, err)
	view, err := p.view(p.ctx)
	require.NoError(p.t, err)
	for _, c := range view.Children {
		switch c.Task {
		case "task of clerk":
			p.clerk = c.ID
		case "task of chief":
			p.chief = c.ID
		}
	}
	for _, c := range p.pending(p.id, protocol.CallTool) {
		p.pay = c.GetActivityId()
	}
}

// holdNext holds the next report of a workflow task.
func (p *duo) holdNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = world.NewGate()
}

// block lets the agent's workflow have a task whose report is held.
func (p *duo) block() {
	p.holdNext()
	require.NoError(p.t, p.temporal.SignalWorkflow(p.ctx, p.id, "", "poke", nil))
	p.hold.Wait(p.t)
}

func (p *duo) release() { close(p.hold.Open) }

// roll lets the agent go on in a new run, for which there is no worker.
func (p *duo) roll() {
	before := p.runID()
	p.holdNext()
	p.calls.Go(func() error { return p.agents.Upgrade(p.ctx, p.id) })
	p.hold.Wait(p.t)
	p.stop()
	p.release()
	p.soon("it goes on in a new run", func() bool { return p.runID() != before })
}

// rollBlocked lets the agent go on in a new run, the report of whose first task is held.
func (p *duo) rollBlocked() {
	before := p.runID()
	p.passRoll = true
	p.holdNext()
	p.calls.Go(func() error { return p.agents.Upgrade(p.ctx, p.id) })
	p.hold.Wait(p.t)
	require.NotEqual(p.t, before, p.runID())
}

// grow makes the agent's state too large for the input of its next run.
func (p *duo) grow() {
	random := rand.NewChaCha8([32]byte{})
	for i := range 2 {
		text := make([]byte, 700_000)
		_, err := random.Read(text)
		require.NoError(p.t, err)
		for i := range text {
			text[i] = ' ' + 1 + text[i]%90
			if text[i] == '<' || text[i] == '"' || text[i] == '\\' || text[i] == '&' || text[i] == '>' {
				text[i] = 'x'
			}
		}
		_, err = p.agents.Send(p.ctx, p.id, reagent.Message{Text: string(text)})
		require.NoError(p.t, err, i)
		p.complete(p.id, p.awaits(p.id, protocol.CallModel), reply(llmtest.Say("noted")))
		p.soon("it waits", func() bool { return p.status() == agent.Waiting })
	}
}

// call runs a call that needs a worker, and returns when the server has its update.
func (p *duo) call(do func(context.Context) error) {
	p.mu.Lock()
	before := len(p.updates)
	p.mu.Unlock()
	p.calls.Go(func() error {
		if err := do(p.ctx); err != nil {
			p.t.Logf("not accepted: %v", err)
			p.refused.Store(true)
		}
		return nil
	})
	p.admitted(before)
}

// send sends the agent a message.
func (p *duo) send(text string, steer bool) {
	p.call(func(ctx context.Context) error {
		_, err := p.agents.Send(ctx, p.id, reagent.Message{Text: text, Steer: steer})
		if err == nil {
			p.mu.Lock()
			p.accepted = append(p.accepted, text)
			p.mu.Unlock()
		}
		return err
	})
}

// end lets a sub-agent end with its answer, and returns when the agent's run has been told, where it waits for the sub-agent.
func (p *duo) end(tool, id string) {
	p.complete(id, p.awaits(id, protocol.CallModel), reply(llmtest.Say(answerOf(tool))))
	p.soon(tool+" has ended and this is known", func() bool {
		for _, c := range p.describe(p.id).GetPendingChildren() {
			if c.GetWorkflowId() == id {
				return false
			}
		}
		return p.describe(id).GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
}

// timeIsUp waits until the budget of the boss is over. While a workflow task is held the server does not show
// that a timer has fired; it fires them up to a second late.
func (p *duo) timeIsUp() {
	p.soon("the timer has fired", func() bool {
		return time.Since(p.began) > p.budget+1200*time.Millisecond
	})
}

func ofType(t enumspb.EventType) func(*duo, *historypb.HistoryEvent) bool {
	return func(_ *duo, e *historypb.HistoryEvent) bool { return e.GetEventType() == t }
}

func ofUpdate(name string) func(*duo, *historypb.HistoryEvent) bool {
	return func(_ *duo, e *historypb.HistoryEvent) bool {
		return e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName() == name
	}
}

// completes reports whether an event tells that an activity has completed.
func (p *duo) completes(e *historypb.HistoryEvent, activityID string) bool {
	done := e.GetActivityTaskCompletedEventAttributes()
	return done != nil && p.scheduled[done.GetScheduledEventId()] == activityID
}

// ends reports whether an event tells that a sub-agent has ended.
func (p *duo) ends(e *historypb.HistoryEvent, id string) bool {
	return e.GetChildWorkflowExecutionCompletedEventAttributes().GetWorkflowExecution().GetWorkflowId() == id
}

// check asserts what has to hold after the two have arrived, and reports whether they came in one task.
func (p *duo) check(a, b arrival) (together bool) {
	require.NoError(p.t, p.calls.Wait())
	p.soon("the workflow has its state and nothing to do", func() bool {
		found := p.describe(p.id)
		reads := slices.ContainsFunc(found.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
			return a.GetActivityType().GetName() == protocol.ReadAgent
		})
		return found.GetPendingWorkflowTask() == nil && !reads
	})
	together = p.inOneTask(a, b)

	var read, shown reagent.Snapshot
	require.NoError(p.t, until(p.ctx, "the history tells what the worker does", func(ctx context.Context) (bool, error) {
		var err, err2 error
		read, err = p.agents.Read(ctx, p.id)
		shown, err2 = p.agents.Show(ctx, p.id)
		shown.Retry = nil // the history does not tell
		return err == nil && err2 == nil && assert.ObjectsAreEqual(read, shown), errors.Join(err, err2)
	}), "read %+v, shown %+v", read, shown)
	p.requireNothingBegun()
	if shown.Status.Ended() {
		require.Equal(p.t, reagent.Cancelled, shown.Status, shown.Failure)
		started, err := p.agents.Resume(p.ctx, p.id, reagent.ResumeOptions{})
		require.NoError(p.t, err)
		require.False(p.t, started.Found)
	}
	p.settle()
	p.requireSame()
	p.requireNothingLost(a, b)
	return together
}

// together reports whether two arrivals can come in one workflow task.
func (p *duo) together(a, b arrival, blocked bool) bool {
	switch {
	case p.refused.Load():
		return false
	case b.name == reset.name:
		return false // the run that is reset keeps what it had, but for the ends of sub-agents
	case a.name == first.name && blocked:
		return false // the first task is the one before
	case p.situation.fresh && (a.name == late.name || b.name == late.name):
		return false // a run that goes on asks for it in its first task
	}
	return true
}

// inOneTask reports whether two arrivals came in one workflow task of a run.
func (p *duo) inOneTask(a, b arrival) bool {
	for _, h := range p.histories() {
		x, y := p.task(h, a), p.task(h, b)
		if x > 0 && x == y {
			return true
		}
	}
	return false
}

// task returns the event with which the workflow task started that brought an arrival; 0 where none did.
func (p *duo) task(h *historypb.History, a arrival) int64 {
	p.scheduled = map[int64]string{}
	var begun, found int64
	for _, e := range h.GetEvents() {
		if s := e.GetActivityTaskScheduledEventAttributes(); s != nil {
			p.scheduled[e.GetEventId()] = s.GetActivityId()
		}
		if a.found(p, e) {
			found = e.GetEventId()
			if a.update {
				return begun
			}
		}
		if done := e.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			begun = done.GetStartedEventId()
			if found > 0 && begun > found {
				return begun
			}
		}
	}
	return 0
}

// requireNothingBegun asserts that no run began an effect in a task that had a cancel. To read its own state or to
// look for a sub-agent is none.
func (p *duo) requireNothingBegun() {
	p.t.Helper()
	effects := []string{protocol.LoadAgent, protocol.CallModel, protocol.CallTool}
	for run, h := range p.histories() {
		asked, cancelled := false, false
		for _, e := range h.GetEvents() {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
				asked = true
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
				cancelled = asked
			case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
				require.False(p.t, cancelled, "run %s: event %d starts a sub-agent after the cancel", run, e.GetEventId())
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				name := e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
				require.False(p.t, cancelled && slices.Contains(effects, name), "run %s: event %d begins %s after the cancel", run, e.GetEventId(), name)
			}
		}
	}
}

// requireNothingLost asserts that what was accepted and what has come is in the transcript.
func (p *duo) requireNothingLost(a, b arrival) {
	p.t.Helper()
	shown, err := p.agents.Show(p.ctx, p.id)
	require.NoError(p.t, err)
	lines, err := pair(shown.Messages)
	require.NoError(p.t, err)
	for _, text := range append([]string{"go"}, p.accepted...) {
		n := 0
		for _, l := range lines {
			if l.role == llm.User && l.content == text {
				n++
			}
		}
		require.Equal(p.t, 1, n, "%q in %v", text, lines)
	}
	if a.name == cancelling.name || b.name == cancelling.name {
		return // it walks down the tree, and answers what is open
	}
	if p.clerk != "" {
		require.Contains(p.t, fmt.Sprint(lines), answerOf("clerk"))
	}
	if p.chief != "" {
		require.Contains(p.t, fmt.Sprint(lines), answerOf("chief"))
		require.Contains(p.t, fmt.Sprint(lines), "paid")
	}
}
