package lab

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

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// arrival is something that an agent learns by a workflow task, such as a message, a cancel or the result of a tool.
type arrival struct {
	name string
	// cause makes the arrival happen. It returns when the server knows of the arrival.
	cause func(*duo)
	// found reports whether the event e of a history shows the arrival.
	found func(p *duo, e *historypb.HistoryEvent) bool
	// update is true if the arrival is a Temporal update. An update came with the workflow task that was completed before the
	// event in found. Any other arrival came with the next workflow task after the event.
	update bool
}

// duo holds what one case of TestPairsInOneTask needs and records. A case is two arrivals in one workflow task.
type duo struct {
	*stage
	situation situation
	clerk     string // the ID of the sub-agent clerk
	chief     string // the ID of the sub-agent chief
	pay       string // the ID of the activity that calls the tool pay
	notify    string // the ID of the activity that delivers a notification
	calls     errgroup.Group
	asides    errgroup.Group // the questions aside, which get answers while the agent settles
	// accepted are the texts of the messages that the agent has accepted.
	accepted []string
	// refused says that a message or an upgrade was not accepted, and that its sender was told.
	refused atomic.Bool
	began   time.Time // the time from which the timer of boss counts
	// scheduled has activity IDs of the history at which [duo.task] looks, by the ID of the event that scheduled the activity.
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
	interrupt = arrival{
		name: "interrupt", found: ofUpdate(protocol.InterruptUpdate), update: true,
		cause: func(p *duo) { p.call(func(ctx context.Context) error { return p.agents.Interrupt(ctx, p.id) }) },
	}
	given = arrival{
		name: "given result", found: ofUpdate(protocol.DecideUpdate), update: true,
		cause: func(p *duo) {
			p.call(func(ctx context.Context) error {
				_, err := p.agents.Complete(ctx, p.id, "", "given", reagent.CompleteOptions{})
				return err
			})
		},
	}
	revoke = arrival{
		name: "revoke", found: ofUpdate(protocol.RevokeUpdate), update: true,
		cause: func(p *duo) {
			p.call(func(ctx context.Context) error { return p.agents.Revoke(ctx, p.id, agent.Key(p.pay)) })
		},
	}
	// aside is a question that the model answers aside. The answer comes when the test lets all activities end.
	aside = arrival{
		name: "ask", found: ofUpdate(protocol.AsideUpdate), update: true,
		cause: func(p *duo) {
			p.callIn(&p.asides, func(ctx context.Context) error {
				_, err := p.agents.Aside(ctx, p.id, "what do you do?")
				return err
			})
		},
	}
	delivered = arrival{
		name:  "delivery",
		cause: func(p *duo) { p.complete(p.id, p.notify, nil) },
		found: func(p *duo, e *historypb.HistoryEvent) bool { return p.completes(e, p.notify) },
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
	// first is the first workflow task of a run. Nothing has to cause it.
	first = arrival{name: "first task", cause: func(*duo) {}, found: func(_ *duo, e *historypb.HistoryEvent) bool { return e.GetEventId() == 1 }}
)

// situation is a state of the agent in which the two arrivals of a case come.
type situation struct {
	name string
	// fresh says that the arrivals come with the first workflow task of a run.
	fresh bool
	// large says that the agent's state is too large for the input of a run.
	large    bool
	arrivals []arrival
	// stopped brings the agent into the situation and leaves it without a worker. blocked leaves it with a worker whose
	// report of a workflow task is held. In both cases, the arrivals come with the next workflow task.
	stopped, blocked func(*duo)
}

var situations = []situation{
	{
		name: "busy", arrivals: []arrival{cancelling, message, upgrade, result, childEnd, late, timer, reset, interrupt, given, revoke, aside, delivered},
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

// Pair is two arrivals that come with one workflow task in a situation.
type Pair struct {
	situation situation
	a, b      arrival
	// blocked says that they come while the worker works on an earlier task. Otherwise the worker is stopped.
	blocked bool
}

// Pairs returns all pairs, or a representative part of them.
func Pairs(all bool) (list []Pair) {
	for _, s := range situations {
		for _, a := range s.arrivals {
			for _, b := range s.arrivals {
				if a.name == b.name || b.name == first.name || !all && !representativePair(s, a, b) {
					continue
				}
				list = append(list, Pair{s, a, b, false})
				if all && a.name != reset.name && b.name != reset.name { // a reset ends the run whose task is held
					list = append(list, Pair{s, a, b, true})
				}
			}
		}
	}
	return list
}

// String says which arrivals come, and when.
func (c Pair) String() string {
	name := fmt.Sprintf("%s, then %s, %s", c.a.name, c.b.name, c.situation.name)
	if c.blocked {
		name += ", behind a task"
	}
	return name
}

// representativePair reports whether the pair of the arrivals a and b is in the representative part. In the situation "busy",
// each pair runs in one of its two orders, but those of revoke, aside and delivered only with three other arrivals. In the other
// situations, only some pairs run.
func representativePair(s situation, a, b arrival) bool {
	if s.name != "busy" {
		return a.name == first.name && (!s.large || b.name == message.name) || s.name == "idle" && a.name == message.name
	}
	names := func(x arrival) int {
		return slices.IndexFunc(s.arrivals, func(y arrival) bool { return x.name == y.name })
	}
	first, second := names(a), names(b)
	light := slices.Contains([]string{revoke.name, aside.name, delivered.name}, b.name)
	return first < second && (!light || slices.Contains([]string{cancelling.name, result.name, interrupt.name}, a.name))
}

// oneLarge is held by a pair with a large state: two of them at once are so slow that the agents seem to be stuck.
var oneLarge sync.Mutex

// Run runs the pair: the agent must then be readable, its state be that of a replay, and nothing lost. It needs the workers of
// [ServePairs]. It runs the pair anew if the arrivals came with two tasks: a timer can fire too early, and the server
// can drop an update whose task no worker has taken, so that the client sends this update again, with a later task.
func (c Pair) Run(t *testing.T) {
	s, a, b, blocked := c.situation, c.a, c.b, c.blocked
	if s.large {
		oneLarge.Lock()
		defer oneLarge.Unlock()
	}
	timed := 1500 * time.Millisecond
	for range 5 {
		budget := time.Hour
		if a.name == timer.name || b.name == timer.name {
			budget = timed
			timed *= 2
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
		t.Logf("%s and %s came with two tasks; another try", a.name, b.name)
		p.stop()
	}
	require.Fail(t, "the arrivals never came with one task", "%s and %s", a.name, b.name)
}

// reagentID returns a new agent ID that contains the name of the test.
func reagentID(t testing.TB) string {
	return fmt.Sprintf("%d-%s", rand.Uint32(), strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name()))
}

// become starts the agent and a worker, and brings the agent into a state with the function in the parameter where, such as
// [stage.busy]. Then it stores the IDs of the sub-agents and of the tool's activity in p.
func (p *duo) become(where func(*stage)) {
	p.start()
	p.serve()
	where(p.stage)
	p.began = time.Now()
	_, err := p.agents.Describe(p.ctx, p.id)
	if errors.Is(err, reagent.ErrNoWorker) {
		// A worker of the SDK that has just started sometimes stops polling. A second worker hides only this: an agent that
		// cannot go on still fails the test here.
		p.t.Log("the worker answers no more; another one is started")
		p.stop()
		p.serve()
		_, err = p.agents.Describe(p.ctx, p.id)
	}
	require.NoError(p.t, err)
	var view protocol.StateView
	p.soon("the agent shows its state", func() bool {
		view, err = p.view(p.ctx)
		return err == nil
	})
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
	for _, c := range p.pending(p.id, protocol.Notify) {
		p.notify = c.GetActivityId()
	}
}

// holdNext holds the worker's next report of a workflow task until [duo.release].
func (p *duo) holdNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = world.NewGate()
}

// block gives the agent's workflow a workflow task, and waits until the worker's report of this task is held.
func (p *duo) block() {
	p.holdNext()
	require.NoError(p.t, p.temporal.SignalWorkflow(p.ctx, p.id, "", "poke", nil))
	p.hold.Wait(p.t)
}

func (p *duo) release() { close(p.hold.Open) }

// roll makes the agent continue in a new run. It stops the worker before this run begins, so the new run has no worker.
func (p *duo) roll() {
	before := p.runID()
	p.holdNext()
	p.calls.Go(func() error { return p.agents.Upgrade(p.ctx, p.id) })
	p.hold.Wait(p.t)
	p.stop()
	p.release()
	p.soon("it goes on in a new run", func() bool { return p.runID() != before })
}

// rollBlocked makes the agent continue in a new run, and holds the report of the first workflow task of this run.
func (p *duo) rollBlocked() {
	before := p.runID()
	p.passRoll = true
	p.holdNext()
	p.calls.Go(func() error { return p.agents.Upgrade(p.ctx, p.id) })
	p.hold.Wait(p.t)
	require.NotEqual(p.t, before, p.runID())
}

// grow sends the agent messages until its state is too large for the input of its next run.
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

// call starts the function in the parameter do in a goroutine. This function sends the agent an update, such as a message.
// call returns when the server has admitted the update. If do returns an error, p.refused is set.
func (p *duo) call(do func(context.Context) error) { p.callIn(&p.calls, do) }

// callIn is [duo.call] with the group of goroutines in the parameter group.
func (p *duo) callIn(group *errgroup.Group, do func(context.Context) error) {
	p.mu.Lock()
	before := len(p.updates)
	p.mu.Unlock()
	group.Go(func() error {
		if err := do(p.ctx); err != nil {
			p.t.Logf("not accepted: %v", err)
			p.refused.Store(true)
		}
		return nil
	})
	p.admitted(before)
}

// send sends the agent a message with [duo.call]. If the agent accepts the message, send adds its text to p.accepted.
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

// end makes a sub-agent end with its answer: see [answerOf]. The parameter id is the ID of the sub-agent. If the agent's run
// waits for the sub-agent, end returns when Temporal has told the run about the end.
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

// timeIsUp waits until the timer for the call of the sub-agent boss must have fired. It adds 1.2 seconds, because the server
// fires timers up to a second late. It cannot look for the event of the timer, because the server does not show this event
// while the report of a workflow task is held.
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

// completes reports whether the event e says that the activity with the given ID has completed.
func (p *duo) completes(e *historypb.HistoryEvent, activityID string) bool {
	done := e.GetActivityTaskCompletedEventAttributes()
	return done != nil && p.scheduled[done.GetScheduledEventId()] == activityID
}

// ends reports whether the event e says that the sub-agent with the given ID has completed.
func (p *duo) ends(e *historypb.HistoryEvent, id string) bool {
	return e.GetChildWorkflowExecutionCompletedEventAttributes().GetWorkflowExecution().GetWorkflowId() == id
}
