package lab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
)

// cutOff is the result of an at-most-once tool call whose worker died during the call. The call may or may not have taken effect.
const cutOff = "no result: the worker stopped while the tool ran" + unknownOutcome

// unknownOutcome is the end of the results of tool calls that may or may not have taken effect.
const unknownOutcome = "; outcome unknown — check before you retry"

// Told holds the messages of an agent and of the sub-agents below it. Two agents with the same task have the same messages,
// except for IDs and keys.
type Told struct {
	id       string
	messages []line
	children []Told
}

// line is one message of a transcript, in a form that tests can compare.
type line struct {
	role           llm.Role
	content, calls string
	// answers is the tool call whose result the message is: the name of the tool and the arguments. key is the key of this tool
	// call. For a reply of the model, key is the key of the model call.
	answers, key string
}

// lateOf returns the key of the call whose late result the message with the given key brings.
func lateOf(key string) (call string, isLate bool) {
	digits, isLate := strings.CutPrefix(key, agent.KindLate+"-")
	return agent.KindTool + "-" + strings.TrimSuffix(digits, "-again"), isLate
}

func (l line) String() string { return strings.TrimSpace(fmt.Sprint(l.role, ": ", l.content, l.calls)) }

// tell reads the messages of a completed agent and of its sub-agents. If one of them has not completed, or if a tool call does
// not have exactly one result, it returns an error.
func tell(ctx context.Context, c *reagent.Client, id string) (Told, error) {
	snap, err := c.ShowRecorded(ctx, id)
	if err != nil {
		return Told{}, err
	}
	if snap.Status != reagent.Completed {
		return Told{}, fmt.Errorf("%s is %s: %s", id, snap.Status, snap.Failure)
	}
	t := Told{id: id}
	if t.messages, err = linesOf(snap.Messages); err != nil {
		return Told{}, fmt.Errorf("%s: %w", id, err)
	}
	for _, child := range snap.Children {
		below, err := tell(ctx, c, child.ID)
		if err != nil {
			return Told{}, err
		}
		t.children = append(t.children, below)
	}
	return t, nil
}

// errOpenCalls says that calls have no result.
var errOpenCalls = errors.New("a call has no result")

// handle matches the handle of a sub-agent in a tool result. The handle is a part of a key.
var handle = regexp.MustCompile(`under the handle "[0-9a-f]{8}"`)

// linesOf converts messages to lines, and matches each tool result with its call. If the results are not in the order of the
// calls, or if a result is missing, linesOf returns an error. If the last calls have no results, it returns the lines and [errOpenCalls]. The
// calls of an agent that was cancelled stay open.
func linesOf(messages []agent.Message) ([]line, error) {
	var lines []line
	var open []llm.ToolCall
	for i, m := range messages {
		l := line{role: m.Role, content: handle.ReplaceAllString(m.Content, "under a handle"), key: string(m.Key)}
		if m.Role == llm.Tool {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return nil, fmt.Errorf("message %d is the result of call %q, which is not the next call without a result", i, m.ToolCallID)
			}
			l.answers = open[0].Name + " " + open[0].Arguments
			open = open[1:]
		} else if len(open) > 0 {
			return nil, fmt.Errorf("message %d comes before the result of call %q", i, open[0].ID)
		}
		for _, call := range m.ToolCalls {
			l.calls += fmt.Sprintf("[%s %s]", call.Name, call.Arguments)
			open = append(open, call)
		}
		lines = append(lines, l)
	}
	if len(open) > 0 {
		return lines, fmt.Errorf("%w: call %q", errOpenCalls, open[0].ID)
	}
	return lines, nil
}

// ids returns the IDs of the agent and of all sub-agents below it.
func (t Told) ids() []string {
	ids := []string{t.id}
	for _, child := range t.children {
		ids = append(ids, child.ids()...)
	}
	return ids
}

// Verdict collects counts and problems. A test finds them when it compares the messages of its agents with the messages of
// undisturbed agents and with the ledger.
type Verdict struct {
	Tally

	seen     map[string][]effect // the tool calls that took effect, by key
	owners   map[string]string   // the IDs of the agents, by the keys of their calls
	Cut      []string            // the at-most-once calls that were cut off: see [Verdict.weigh]
	Problems []string
}

func newVerdict(l *Ledger) *Verdict {
	return &Verdict{seen: l.effected(), owners: map[string]string{}}
}

func (v *Verdict) problemf(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// hear compares the messages of an agent and of its sub-agents with the messages of an undisturbed agent. It also checks that
// the tools took effect as the messages say. The parameter want is for the undisturbed agent, and got is for the other one.
func (v *Verdict) hear(want, got Told) {
	v.agents++
	if len(got.messages) != len(want.messages) || len(got.children) != len(want.children) {
		v.problemf("%s: it has %d messages and %d sub-agents, undisturbed %d and %d: %v",
			got.id, len(got.messages), len(got.children), len(want.messages), len(want.children), got.messages)
	}
	v.lost += max(0, users(want)-users(got))
	for i, m := range got.messages[:min(len(got.messages), len(want.messages))] {
		expected := want.messages[i]
		if m.content == cutOff && atMostOnce(m.answers) {
			expected.content = cutOff
		}
		if m.String() != expected.String() {
			v.problemf("%s: message %d is %q, undisturbed %q", got.id, i, m, expected)
		}
		if v.owners[m.key] == "" { // otherwise, a fork has the message from another agent
			v.owners[m.key] = got.id
			v.weigh(m)
		}
	}
	for i := range got.children[:min(len(got.children), len(want.children))] {
		v.hear(want.children[i], got.children[i])
	}
}

func users(t Told) (n int) {
	for _, m := range t.messages {
		if m.role == llm.User {
			n++
		}
	}
	return n
}

// weigh checks the tool result in the line m. It ignores all other messages, and the results of sub-agents. A result of its own says
// that the call has taken effect. A call that was cut off may have taken effect, and its result says that the outcome is unknown. A
// call whose result says that it was not run has not taken effect.
func (v *Verdict) weigh(m line) {
	tool, _, _ := strings.Cut(m.answers, " ")
	n, notRun := len(v.seen[m.key]), strings.HasPrefix(m.content, "not run: ")
	unknown := strings.HasPrefix(m.content, "no result: ") && strings.HasSuffix(m.content, unknownOutcome)
	switch {
	case tool == "deploy" && unknown: // a result that somebody gives later comes as a message: see [people.hold]
	case tool == "deploy" || tool == "ask_user":
		if m.content != givenFor(tool) && !notRun && !strings.HasPrefix(m.content, goOnWords) {
			v.problemf("%s: the result of %s is %q", v.owners[m.key], m.answers, m.content)
		}
	case tool != "read" && !atMostOnce(m.answers):
	case unknown:
		if atMostOnce(m.answers) {
			v.interrupted++
			v.Cut = append(v.Cut, m.answers)
		}
	case m.content == "did "+m.answers && n == 0:
		v.problemf("%s: %s has a result and took no effect", v.owners[m.key], m.answers)
	case m.content != "did "+m.answers && (n > 0 || !notRun):
		v.problemf("%s: %s took effect %d times, and its result is %q", v.owners[m.key], m.answers, n, m.content)
	}
}

// atMostOnce reports whether a call is one of an at-most-once tool. The parameter is the field answers of a [line].
func atMostOnce(answers string) bool {
	return strings.HasPrefix(answers, "pay ") || strings.HasPrefix(answers, "wire ")
}

// close makes the checks for all agents together. Call it after [Verdict.hear] for each agent. It checks that each tool call in
// the ledger belongs to an agent, that no at-most-once call took effect twice, that a person has approved each call of wire, and that
// each repeated model request is explained: see [Ledger.repeats].
func (v *Verdict) close(l *Ledger, p *people, spans map[string]span) {
	for key, all := range v.seen {
		v.effects += len(all)
		if v.owners[key] == "" {
			v.problemf("%s %s took effect, and nobody asked for it: %s", all[0].Tool, all[0].Arguments, key)
		}
		switch n := len(all); {
		case all[0].Tool == "read":
			v.repeatedReads += n - 1
		case n > 1:
			v.duplicates += n - 1
			v.problemf("%s: %s %s took effect %d times: %s", v.owners[key], all[0].Tool, all[0].Arguments, n, key)
		}
		if all[0].Tool == "wire" && !p.approved(key) {
			v.problemf("%s: wire %s took effect, and nobody has approved it: %s", v.owners[key], all[0].Arguments, key)
		}
	}
	var problems []string
	v.requests, v.Repeated, problems = l.repeats(v.owners, spans)
	v.Problems = append(v.Problems, problems...)
	p.judge(v)
	v.Kills = l.disturbances()[workerDied]
	slices.Sort(v.Problems)
}

// spansOf reads all runs of the agents with the given IDs, and returns the [span] of each of their calls, by key.
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

// addSpans adds the calls of one run to the map spans, by key. The parameter id is the ID of the agent, and h is the history of
// the run.
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
			s := spans[key]
			s.attempts = max(s.attempts, started.GetAttempt())
			if timeout := started.GetLastFailure().GetTimeoutFailureInfo(); timeout != nil {
				s.lost = timeout.GetTimeoutType().String()
			}
			spans[key] = s
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			key := keys[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]
			delete(open, key)
			s := spans[key]
			s.reported = earlier(s.reported, at)
			spans[key] = s
		}
	}
}

// earlier returns the earlier of two times. If a is zero, it returns b.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Tally holds the counts that a test prints as a table.
type Tally struct {
	agents, Kills, requests, Repeated, effects, repeatedReads, interrupted, duplicates, lost int
	// decisions are decisions that agents have accepted. redelivered are notifications that came again under the same key. background
	// are calls whose sub-agents worked in the background; only TestChaos counts them.
	decisions, notifications, redelivered, background int
	// attempts is the largest number of attempts of one activity; only TestChaos counts them.
	attempts int
}

func (t *Tally) add(u Tally) {
	t.agents += u.agents
	t.Kills += u.Kills
	t.requests += u.requests
	t.Repeated += u.Repeated
	t.effects += u.effects
	t.repeatedReads += u.repeatedReads
	t.interrupted += u.interrupted
	t.duplicates += u.duplicates
	t.lost += u.lost
	t.decisions += u.decisions
	t.notifications += u.notifications
	t.redelivered += u.redelivered
}

func (t Tally) String() string {
	var b strings.Builder
	for _, row := range []struct {
		n    int
		what string
	}{
		{t.agents, "agents, sub-agents among them"},
		{t.Kills, "kills of a worker"},
		{t.lost, "messages lost"},
		{t.effects, "effects of tools"},
		{t.duplicates, "duplicate effects of at-most-once tools"},
		{t.repeatedReads, "effects of read-only tools repeated, in flight"},
		{t.interrupted, "at-most-once calls cut off, with the outcome \"unknown\""},
		{t.decisions, "decisions of people"},
		{t.notifications, "notifications"},
		{t.redelivered, "notifications delivered again, with the same key"},
		{t.requests, "model requests"},
		{t.Repeated, "model requests repeated, in flight"},
		{t.attempts, "attempts of one activity, at most"},
	} {
		fmt.Fprintf(&b, "%6d  %s\n", row.n, row.what)
	}
	return b.String()
}
