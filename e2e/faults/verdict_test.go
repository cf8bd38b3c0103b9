package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
)

// cutOff is the result of an at-most-once call of which nobody knows whether it took effect.
const cutOff = "interrupted: the worker stopped while the tool ran; outcome unknown — check before you retry"

// told is what an agent and the agents below it said, as it is the same for every agent that is asked for
// the same: compared without IDs, keys and times.
type told struct {
	id       string
	messages []line
	children []told
}

// line is one message.
type line struct {
	role           llm.Role
	content, calls string
	// answers is the call whose result the message is; key that of the call, or of the model's reply.
	answers, key string
}

func (l line) String() string { return strings.TrimSpace(fmt.Sprint(l.role, ": ", l.content, l.calls)) }

// tell reads what an agent said that has completed. It is an error when not every call has one result.
func tell(ctx context.Context, c *reagent.Client, id string) (told, error) {
	snap, err := c.Read(ctx, id)
	if err != nil {
		return told{}, err
	}
	if snap.Status != reagent.Completed {
		return told{}, fmt.Errorf("%s is %s: %s", id, snap.Status, snap.Failure)
	}
	t := told{id: id}
	if t.messages, err = pair(snap.Messages); err != nil {
		return told{}, fmt.Errorf("%s: %w", id, err)
	}
	for _, child := range snap.Children {
		below, err := tell(ctx, c, child.ID)
		if err != nil {
			return told{}, err
		}
		t.children = append(t.children, below)
	}
	return t, nil
}

// pair gives each result its call.
func pair(messages []agent.Message) ([]line, error) {
	var lines []line
	var open []llm.ToolCall
	for i, m := range messages {
		l := line{role: m.Role, content: m.Content, key: string(m.Key)}
		if m.Role == llm.Tool {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return nil, fmt.Errorf("message %d is the result of %q, which is not asked for there", i, m.ToolCallID)
			}
			l.answers = open[0].Name + " " + open[0].Arguments
			open = open[1:]
		} else if len(open) > 0 {
			return nil, fmt.Errorf("message %d comes where call %q has no result", i, open[0].ID)
		}
		for _, call := range m.ToolCalls {
			l.calls += fmt.Sprintf("[%s %s]", call.Name, call.Arguments)
			open = append(open, call)
		}
		lines = append(lines, l)
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("call %q has no result", open[0].ID)
	}
	return lines, nil
}

// ids returns the agent's ID and those below it.
func (t told) ids() []string {
	ids := []string{t.id}
	for _, child := range t.children {
		ids = append(ids, child.ids()...)
	}
	return ids
}

// verdict is what comes of holding what agents said against what they say undisturbed, and
// both against what the far side saw.
type verdict struct {
	tally

	seen     map[string][]world.Effect // by key
	owners   map[string]string         // of keys: the IDs of agents
	cut      []string                  // the calls that were cut off
	problems []string
}

func newVerdict(l *ledger) *verdict {
	return &verdict{seen: l.effected(), owners: map[string]string{}}
}

func (v *verdict) problemf(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// hear judges one agent and those below it.
func (v *verdict) hear(want, got told) {
	v.agents++
	if len(got.messages) != len(want.messages) || len(got.children) != len(want.children) {
		v.problemf("%s: it has %d messages and %d sub-agents, undisturbed %d and %d: %v",
			got.id, len(got.messages), len(got.children), len(want.messages), len(want.children), got.messages)
	}
	v.lost += max(0, users(want)-users(got))
	for i, m := range got.messages[:min(len(got.messages), len(want.messages))] {
		expected := want.messages[i]
		if m.content == cutOff && strings.HasPrefix(m.answers, "pay ") {
			expected.content = cutOff
		}
		if m.String() != expected.String() {
			v.problemf("%s: message %d is %q, undisturbed %q", got.id, i, m, expected)
		}
		if v.owners[m.key] == "" { // or a fork has it from another
			v.owners[m.key] = got.id
			v.weigh(m)
		}
	}
	for i := range got.children[:min(len(got.children), len(want.children))] {
		v.hear(want.children[i], got.children[i])
	}
}

func users(t told) (n int) {
	for _, m := range t.messages {
		if m.role == llm.User {
			n++
		}
	}
	return n
}

// weigh holds a result against the effect.
func (v *verdict) weigh(m line) {
	n := len(v.seen[m.key])
	switch tool, _, _ := strings.Cut(m.answers, " "); {
	case tool == "pay" && m.content == cutOff:
		v.interrupted++
		v.cut = append(v.cut, m.answers)
		fallthrough
	case tool == "pay":
		v.duplicates += max(0, n-1)
		if n > 1 {
			v.problemf("%s: %s took effect %d times", v.owners[m.key], m.answers, n)
		}
	case tool == "read":
		v.repeatedReads += max(0, n-1)
	default:
		return
	}
	if n == 0 && m.content != cutOff {
		v.problemf("%s: %s has a result and took no effect", v.owners[m.key], m.answers)
	}
}

// close judges what concerns all agents together, when each was heard.
func (v *verdict) close(l *ledger, spans map[string]span) {
	for key, all := range v.seen {
		v.effects += len(all)
		if v.owners[key] == "" {
			v.problemf("%s %s took effect, and nobody asked for it: %s", all[0].Tool, all[0].Arguments, key)
		}
	}
	var problems []string
	v.requests, v.repeated, problems = l.repeats(v.owners, spans)
	v.problems = append(v.problems, problems...)
	v.kills = l.disturbances()[workerDied]
	slices.Sort(v.problems)
}

// spansOf reads the spans of effects, by key, from all runs of agents.
func spansOf(ctx context.Context, c sdk.Client, ids []string) (map[string]span, error) {
	spans := map[string]span{}
	for _, id := range ids {
		runs, err := history.Runs(ctx, c, id)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			h, err := historyOf(ctx, c, id, run)
			if err != nil {
				return nil, err
			}
			addSpans(spans, id, h)
		}
	}
	return spans, nil
}

// addSpans adds the spans of the effects of one run of an agent.
func addSpans(spans map[string]span, id string, h *historypb.History) {
	keys := map[int64]string{}
	open := map[string]bool{}
	for _, event := range h.GetEvents() {
		at := event.GetEventTime().AsTime()
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
			for key := range open {
				s := spans[key]
				s.cancelled++
				spans[key] = s
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			key := event.GetActivityTaskScheduledEventAttributes().GetActivityId()
			keys[event.GetEventId()], open[key] = key, true
			s := spans[key]
			s.agent, s.scheduled = id, earlier(s.scheduled, at)
			spans[key] = s
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			started := event.GetActivityTaskStartedEventAttributes()
			key := keys[started.GetScheduledEventId()]
			if s := spans[key]; started.GetLastFailure().GetTimeoutFailureInfo() != nil {
				s.lost = started.GetLastFailure().GetTimeoutFailureInfo().GetTimeoutType().String()
				spans[key] = s
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			key := keys[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]
			delete(open, key)
			s := spans[key]
			s.reported = earlier(s.reported, at)
			spans[key] = s
		}
	}
}

// earlier returns the earlier of two times, of which the first may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// tally is what a table shows.
type tally struct {
	agents, kills, requests, repeated, effects, repeatedReads, interrupted, duplicates, lost int
}

func (t *tally) add(u tally) {
	t.agents += u.agents
	t.kills += u.kills
	t.requests += u.requests
	t.repeated += u.repeated
	t.effects += u.effects
	t.repeatedReads += u.repeatedReads
	t.interrupted += u.interrupted
	t.duplicates += u.duplicates
	t.lost += u.lost
}

func (t tally) String() string {
	var b strings.Builder
	for _, row := range []struct {
		n    int
		what string
	}{
		{t.agents, "agents, sub-agents among them"},
		{t.kills, "kills of a worker"},
		{t.lost, "messages lost"},
		{t.effects, "effects of tools"},
		{t.duplicates, "duplicate effects of at-most-once tools"},
		{t.repeatedReads, "effects of read-only tools repeated, in flight"},
		{t.interrupted, "at-most-once calls cut off, with the outcome \"unknown\""},
		{t.requests, "model requests"},
		{t.repeated, "model requests repeated, in flight"},
	} {
		fmt.Fprintf(&b, "%6d  %s\n", row.n, row.what)
	}
	return b.String()
}
