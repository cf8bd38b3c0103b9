package chat

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// actor is an [Agents] whose agent answers each message with "re: " and the message. The message "pay" makes a call that waits for an
// approval.
type actor struct {
	recorder
	mu      sync.Mutex
	changed chan struct{}
	said    []agent.Message
	waiting []client.Waits
}

func newActor() *actor { return &actor{changed: make(chan struct{})} }

func (a *actor) change(by func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	by()
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *actor) hear(id, text string) {
	a.change(func() {
		m := user(text)
		m.Key = agent.Key(id)
		a.said = append(a.said, m)
		if text == "pay" {
			a.waiting = []client.Waits{waitsFor("k-00000001", "pay", `{"amount":10}`, false)}
			return
		}
		a.said = append(a.said, reply("re: "+text))
	})
}

func (a *actor) Start(ctx context.Context, o client.StartOptions) (client.Started, error) {
	started, err := a.recorder.Start(ctx, o)
	if err == nil && !started.Found {
		a.hear(o.MessageID, o.Message)
	}
	return started, err
}

func (a *actor) Send(ctx context.Context, id string, m client.Message) (client.Sent, error) {
	a.hear(m.ID, m.Text)
	return a.recorder.Send(ctx, id, m)
}

func (a *actor) Decide(ctx context.Context, w client.Waits, d agent.Decision) error {
	a.change(func() {
		a.waiting = nil
		a.said = append(a.said, reply("decided"))
	})
	return a.recorder.Decide(ctx, w, d)
}

func (a *actor) Pending(context.Context, string) ([]client.Waits, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting, nil
}

func (a *actor) Watch(ctx context.Context, _ string, from int) iter.Seq2[client.Progress, error] {
	return func(yield func(client.Progress, error) bool) {
		for {
			a.mu.Lock()
			said, status, changed := a.said, idle, a.changed
			if len(a.waiting) > 0 {
				status.WaitsFor = client.WaitsForApproval
			}
			a.mu.Unlock()
			for ; from < len(said); from++ {
				if !yield(client.Progress{Message: &said[from], Index: from}, nil) {
					return
				}
			}
			if !yield(status, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(client.Progress{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (a *actor) plainly(t *testing.T, input string) (out, notice string, end Result) {
	var o, n strings.Builder
	end, err := RunPlain(t.Context(), Options{Agents: a, ID: "talk", Start: &client.StartOptions{Agent: "x"}, NoWorker: "no worker"}, strings.NewReader(input), &o, &n)
	require.NoError(t, err)
	return o.String(), n.String(), end
}

func TestCommandsWithoutATerminal(t *testing.T) {
	a := newActor()
	a.answer = "I \x1b[2J wait"
	out, notice, end := a.plainly(t, "/cost\n/nonsense\nhello\n//literal\n/aside what\n/help\n/permissions\n/quit\nnever sent")
	require.ElementsMatch(t, []string{"re: hello", "re: /literal", "(aside) I \\x1b[2J wait", ""}, strings.Split(out, "\n"), "/aside does not wait for the end of the turn")
	require.Equal(t, Result{ID: "talk", Started: true, Status: client.Waiting}, end)
	require.Equal(t, []string{"start talk: hello", "send talk steer=false: /literal", "aside talk: what"}, a.asked)
	for _, want := range []string{"Not done: there is no agent yet", "Not done: there is no command /nonsense", "/aside QUESTION", "The agent has no permissions"} {
		require.Contains(t, notice, want)
	}
}

func TestCallIsDecidedWithoutATerminal(t *testing.T) {
	a := newActor()
	out, notice, _ := a.plainly(t, "pay\nthanks\n/deny 00000002\n/deny too\n> dear\n")
	require.Equal(t, "decided\nre: thanks\nre: > dear\n", out, "messages wait for the end of the turn")
	_, told, _ := strings.Cut(notice, "May ")
	require.Equal(t, "pay run with these arguments? (call 00000001)\n    amount  10\n/approve lets it run, /deny REASON refuses it.\n"+
		"Not done: no call 00000002 waits for an approval; name a call that waits, or leave the name out.\nDenied pay {\"amount\":10}.\n", told)
	require.Equal(t, []string{"start talk: pay", "decide talk k-00000001 approve=false remember= reason=too result=", "send talk steer=false: thanks", "send talk steer=false: > dear"}, a.asked)

	out, notice, _ = newActor().plainly(t, "pay\ny\n/approve\n")
	require.Equal(t, "decided\n", out, "a key is no message while a call waits")
	require.Contains(t, notice, "“y” was not sent, because a call waits for your approval: /approve lets it run")

	_, notice, _ = a.plainly(t, "/approve\npay\n/quit\n")
	require.Contains(t, notice, "Not done: there is no agent yet")
}

// A long edit is folded without a terminal, too.
func TestEditIsFoldedWithoutATerminal(t *testing.T) {
	var told strings.Builder
	p := &plainChat{o: Options{ID: "talk"}, notice: &told, told: map[agent.Key]bool{}}
	same := strings.Repeat(`same\n`, 20)
	p.tellCall(waitsFor("k-00000001", "edit_file", `{"path":"a","old":"`+same+`x","new":"`+same+`y"}`, false))
	require.Contains(t, told.String(), "\n      … 17 unchanged lines: `starter inbox --full` shows them\n        same\n")
}

// A reply to the start that is lost does not send the message twice.
func TestFirstLineIsSentOnceAlthoughAReplyWasLost(t *testing.T) {
	a := newActor()
	a.fails, a.found = []error{client.ErrNoServer}, true
	a.plainly(t, "hello\n")
	require.Equal(t, []string{"start talk: hello", "start talk: hello", "send talk steer=true: hello"}, a.asked)
	require.NotEmpty(t, a.ids[0])
	require.Equal(t, []string{a.ids[0], a.ids[0]}, a.ids[1:])
}

func TestOneCommandDecidesOnOneCall(t *testing.T) {
	waits := []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "pay", "{}", false)}
	_, _, err := decisionOf("00000001 00000002", waits, &agent.Decision{Approve: true})
	require.EqualError(t, err, "one command decides on one call: name only 00000001 or only 00000002, or decide on all with --all")
	call, _, err := decisionOf("00000002 00000002", waits, &agent.Decision{Approve: true})
	require.NoError(t, err)
	require.Equal(t, "00000002", call)
}
