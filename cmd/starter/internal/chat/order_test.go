package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// orders is a chat with an agent that has two calls, which wait for an approval. Nothing happens by itself: keys, timers, reads of the
// agent, decisions and reports come in the order that a test chooses.
type orders struct {
	*recorder
	m *model
	// waiting are the calls that wait, deciding those on which a decision is on its way, and running is the number of approved calls that
	// have not ended.
	waiting, deciding []agent.Key
	running           int
	// elsewhere, failures and presses are what may still happen: a decision by somebody else, a failed read, and keys.
	elsewhere, failures, presses int
	// timers and results are on their way to the chat.
	timers  []waitingTimer
	results []waitingResult
	// active is the call on which the keys decide. shows counts how often it has changed, and ready is the count for which the pause has passed.
	active       agent.Key
	shows, ready int
}

type waitingTimer struct {
	msg   tea.Msg
	shows int // when the timer began
}

// waitingResult is the result of a command. The chat may get the result of an earlier or of a later time.
type waitingResult struct {
	msg   tea.Msg
	later tea.Cmd
}

// newOrders returns the chat after the given steps.
func newOrders(t *testing.T, steps []string) *orders {
	o := &orders{recorder: &recorder{}, waiting: []agent.Key{"k-00000001", "k-00000002"}, elsewhere: 1, failures: 1, presses: 3}
	o.m = newModel(t.Context(), Options{ID: "talk", Agents: o})
	o.m.after = func(_ time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg {
			if msg := f(time.Time{}); !slices.Contains([]string{"chat.tickMsg", "chat.lateMsg"}, fmt.Sprintf("%T", msg)) {
				o.timers = append(o.timers, waitingTimer{msg, o.shows})
			}
			return nil
		}
	}
	o.event(tea.WindowSizeMsg{Width: 80, Height: 24})
	o.report()
	for _, step := range steps {
		o.step(step)
	}
	return o
}

func (o *orders) ShowRecorded(context.Context, string) (client.Snapshot, error) {
	snap := client.Snapshot{Status: o.progress().Status, WaitsFor: o.progress().WaitsFor}
	for _, w := range o.waits() {
		snap.Pending = append(snap.Pending, w.Call)
	}
	return snap, nil
}

func (o *orders) Pending(context.Context, string) ([]client.Waits, error) { return o.waits(), nil }

func (o *orders) Decide(_ context.Context, w client.Waits, _ agent.Decision) error {
	if !slices.Contains(o.waiting, w.Call.Key) || slices.Contains(o.deciding, w.Call.Key) {
		return errors.New("decided before")
	}
	o.deciding = append(o.deciding, w.Call.Key)
	return nil
}

func (o *orders) waits() []client.Waits {
	var all []client.Waits
	for _, key := range o.waiting {
		all = append(all, waitsFor(string(key), "pay", "{}", false))
	}
	return all
}

func (o *orders) progress() client.Progress {
	switch {
	case o.running > 0:
		return client.Progress{Status: client.Running}
	case len(o.waiting) > 0:
		return client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval}
	}
	return client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForMessage}
}

func (o *orders) report() {
	o.event(progressMsg{attached: o.m.attached, reports: []client.Progress{o.progress()}, more: func() tea.Msg { return nil }})
}

func (o *orders) take() {
	key := o.deciding[0]
	o.deciding, o.running = o.deciding[1:], o.running+1
	o.waiting = slices.DeleteFunc(slices.Clone(o.waiting), func(k agent.Key) bool { return k == key })
}

// event passes an event to the chat, and begins what the chat asks for.
func (o *orders) event(msg tea.Msg) {
	_, cmd := o.m.Update(msg)
	active := agent.Key("")
	if w := o.m.approval(); w != nil {
		active = w.Call.Key
	}
	if active != o.active {
		o.active, o.shows = active, o.shows+1
	}
	o.begin(cmd)
}

func (o *orders) begin(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			o.begin(c)
		}
	default:
		o.results = append(o.results, waitingResult{msg, cmd})
	}
}

// possible returns the steps that can happen next.
func (o *orders) possible() []string {
	var steps []string
	add := func(possible bool, step string) {
		if possible {
			steps = append(steps, step)
		}
	}
	choosing := o.m.approval() != nil && o.m.denying == nil && o.m.pressed == nil && o.presses > 0
	add(choosing, "press a")
	add(choosing, "press n")
	add(o.m.denying != nil || o.m.pressed != nil, "press enter")
	add(o.m.denying != nil || o.m.pressed != nil, "press esc")
	add(len(o.deciding) > 0, "take")
	add(o.running > 0, "end")
	add(o.elsewhere > 0 && len(o.waiting) > len(o.deciding), "elsewhere")
	add(o.progress().Status != o.m.status || o.progress().WaitsFor != o.m.waitsFor, "report")
	for i := range o.timers {
		steps = append(steps, fmt.Sprint("timer ", i))
	}
	for i, r := range o.results {
		steps = append(steps, fmt.Sprint("result ", i))
		if _, read := r.msg.(refreshedMsg); read {
			steps = append(steps, fmt.Sprint("later ", i))
			add(o.failures > 0, fmt.Sprint("failure ", i))
		}
	}
	return steps
}

func (o *orders) step(step string) {
	var what string
	var i int
	_, _ = fmt.Sscan(step, &what, &i)
	switch what {
	case "press":
		o.presses--
		o.event(map[string]tea.KeyPressMsg{"a": {Code: 'a', Text: "a"}, "n": {Code: 'n', Text: "n"}, "enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}}[strings.Fields(step)[1]])
	case "take":
		o.take()
	case "end":
		o.running--
	case "elsewhere":
		o.elsewhere--
		at := slices.IndexFunc(o.waiting, func(k agent.Key) bool { return !slices.Contains(o.deciding, k) })
		o.deciding = append([]agent.Key{o.waiting[at]}, o.deciding...)
		o.take()
	case "report":
		o.report()
	case "timer":
		due := o.timers[i]
		o.timers = slices.Delete(o.timers, i, i+1)
		if _, ready := due.msg.(readyMsg); ready && due.shows == o.shows {
			o.ready = o.shows
		}
		o.event(due.msg)
	case "result", "later", "failure":
		r := o.results[i]
		o.results = slices.Delete(o.results, i, i+1)
		switch msg := r.msg.(type) {
		case refreshedMsg:
			if what == "later" {
				r.msg = r.later()
			}
			if what == "failure" {
				o.failures--
				r.msg = refreshedMsg{attached: msg.attached, err: errors.New("Temporal does not answer")}
			}
		case decidedMsg:
			for msg.err == nil && slices.Contains(o.deciding, msg.on.Call.Key) {
				o.take()
			}
		}
		o.event(r.msg)
	}
}

// rest lets everything happen that happens without a key.
func (o *orders) rest() {
	for range 1000 {
		steps := slices.DeleteFunc(o.possible(), func(s string) bool {
			return strings.HasPrefix(s, "press") || s == "elsewhere" || strings.HasPrefix(s, "later") || strings.HasPrefix(s, "failure")
		})
		if len(steps) == 0 {
			return
		}
		o.step(steps[0])
	}
	panic("the chat does not come to rest")
}

func (o *orders) applies() bool { return strings.HasPrefix(o.m.hint(), "y approve") }

// String returns everything on which the future depends.
func (o *orders) String() string {
	var b strings.Builder
	fmt.Fprint(&b, o.waiting, o.deciding, o.running, o.elsewhere, o.failures, o.presses, o.m.status, o.m.waitsFor, o.m.stale, o.m.refreshing, o.applies(), o.ready == o.shows, o.m.denying != nil)
	if o.m.pressed != nil {
		fmt.Fprint(&b, o.m.pressed.letter, o.m.pressed.verdict.on.Call.Key)
	}
	for _, w := range o.m.waits {
		fmt.Fprint(&b, " shows ", w.Call.Key)
	}
	for _, t := range o.timers {
		fmt.Fprintf(&b, " %T", t.msg)
		if _, ready := t.msg.(readyMsg); ready {
			fmt.Fprint(&b, t.shows == o.shows)
		}
		if p, pressed := t.msg.(pressedMsg); pressed {
			fmt.Fprint(&b, p.press == o.m.pressed)
		}
	}
	for _, r := range o.results {
		fmt.Fprintf(&b, " %T", r.msg)
		switch msg := r.msg.(type) {
		case refreshedMsg:
			for _, w := range msg.waits {
				fmt.Fprint(&b, w.Call.Key)
			}
		case decidedMsg:
			fmt.Fprint(&b, msg.on.Call.Key, msg.err)
		}
	}
	return b.String()
}

// In whatever order keys, timers, reads of the agent, decisions and reports come: while a call waits for an approval, the chat comes to show
// it, and the keys come to decide on it; and they never decide on a call that was not shown for [readyPause].
func TestKeysComeToDecideWhateverTheOrder(t *testing.T) {
	const depth = 11
	seen, next := map[string]bool{}, [][]string{nil}
	for range depth {
		var after [][]string
		for _, steps := range next {
			o := newOrders(t, steps)
			state := o.String()
			if seen[state] {
				continue
			}
			seen[state] = true
			if o.applies() && o.ready != o.shows {
				require.Failf(t, "The keys decide on a call that has just appeared", "%s", strings.Join(steps, ", "))
			}
			for _, step := range o.possible() {
				after = append(after, append(slices.Clone(steps), step))
			}
			o.rest()
			if len(o.waiting) > 0 && !o.applies() && o.m.denying == nil {
				require.Failf(t, "A call waits, and the keys do not decide", "%s; then the hint is %q", strings.Join(steps, ", "), o.m.hint())
			}
		}
		next = after
	}
	t.Log(len(seen), "states")
}

func TestWaitingCallIsShownWhileAnotherRuns(t *testing.T) {
	o := newOrders(t, []string{"elsewhere", "report"})
	o.running = 2 // the approved call does not end
	for len(o.results)+len(o.timers) > 0 {
		o.step(o.possible()[len(o.possible())-1])
	}
	require.Contains(t, o.m.View().Content, "May pay run with these arguments?")
	require.True(t, o.applies())
}
