package models_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// allProviders makes the long chats run with every provider; otherwise they run with one.
var allProviders = os.Getenv("REAGENT_PROVIDERS") == "all"

// length is the number of messages of the user in a long chat, without those that steer it.
const length = 50

// A chat of fifty messages holds with every block of the guide, with all that people do and all that can happen to a worker and a run, while
// one answer of the endpoint in ten goes wrong. No payment is made twice, and none that was denied.
func TestLongChatHoldsWithEveryProvider(t *testing.T) {
	for name, model := range guide(t) {
		if !allProviders && name != "DeepSeek" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newLongChat(t, name, model)
			for n := 1; n <= length; n++ {
				c.message(n)
			}
			c.judge()
		})
	}
}

// longTalk is [talk] with calls that need an approval, and questions.
func longTalk(ctx context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	call, arguments := "", ""
	if last.Role == llm.User {
		switch kind, n, _ := strings.Cut(said(last), " "); kind {
		case "pay":
			call, arguments = "pay", fmt.Sprintf(`{"n":%s}`, n)
		case "ask":
			call, arguments = "ask_user", fmt.Sprintf(`{"question":"Which colour, %s?"}`, n)
		}
	}
	if call == "" {
		return talk(ctx, req)
	}
	reply := llmtest.Call(llmtest.ToolCall(fmt.Sprintf("call_%d_p", len(req.Messages)), call, arguments))
	reply.Message.Reasoning = "This needs a person."
	return reply, nil
}

// longChat is a chat with a provider.
type longChat struct {
	*stage
	t      *testing.T
	id     string
	faults *standin.Faults
	worker *world.Process

	mu   sync.Mutex
	paid map[string]int // by the arguments of the call
}

func newLongChat(t *testing.T, name, model string) *longChat {
	c := &longChat{t: t, id: t.Name(), faults: &standin.Faults{Seed: 27, Share: 0.1}, paid: map[string]int{}}
	c.stage = newStage(t, name, model, `  chat:
    model: main
    instructions: Be brief.
    tools: [far.*, ask_user]
    approval: {far.pay: always}
    limits: {context_tokens: %d}
`, 3000, longTalk, c.faults)
	c.Tools.Add("pay", nil, func(_ context.Context, e world.Effect) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paid[e.Arguments]++
		return "Paid.", nil
	})
	c.worker = c.Worker()
	return c
}

// message sends the n-th message. Each of ten in a row meets something else.
func (c *longChat) message(n int) {
	task := fmt.Sprint("task ", n)
	switch n % 10 {
	case 2:
		c.send(fmt.Sprint("pay ", n))
		c.decide("approve", c.id, "--yes")
	case 3:
		c.send(fmt.Sprint("pay ", n))
		c.decide("deny", c.id, "--yes", "--reason", "too expensive")
	case 4:
		c.during(task, func() {
			c.worker.Kill()
			c.gate.Store(nil)
			c.worker = c.Worker()
		})
	case 5:
		c.send(fmt.Sprint("ask ", n))
		c.decide("answer", c.id, "blue")
	case 6:
		c.during(task, func() {
			task = fmt.Sprint("rather ", n)
			c.send(task)
		})
	case 7:
		c.during(task, func() { c.Must("interrupt", c.id) })
		task = fmt.Sprint("after all ", n)
		c.send(task)
	case 8:
		before := lines(c.World, c.id)
		c.Reset(c.id, "", 3)
		c.Eventually("the chat is where it was", func() bool {
			return c.Show(c.id).Status == "waiting" && len(lines(c.World, c.id)) == len(before)
		})
		require.Equal(c.t, before, lines(c.World, c.id))
		c.send(task)
	case 9:
		c.TerminateAgent(c.id)
		c.Must("resume", "--message", task, c.id)
	case 0:
		c.Roll(c.id)
		c.send(task)
	default:
		c.send(task)
	}
	if k := n % 10; k == 2 || k == 3 {
		task = fmt.Sprint("pay ", n)
	} else if k == 5 {
		task = fmt.Sprint("ask ", n)
	}
	c.answers(task)
}

// send sends a message and does not wait. The first one starts the chat.
func (c *longChat) send(text string) {
	if text == "task 1" {
		c.Must("run", "--chat", "--detach", "--agent", "chat", "--id", c.id, text)
		return
	}
	c.Must("send", "--detach", c.id, text)
}

// decide runs a command of a person when a call waits for it.
func (c *longChat) decide(command ...string) {
	c.Eventually(command[0], func() bool {
		_, _, code := c.Starter(command...)
		return code == 0
	})
}

// during sends a message and does something while a tool runs.
func (c *longChat) during(text string, do func()) {
	gate := world.NewGate()
	c.gate.Store(gate)
	c.send(text)
	gate.Wait(c.t)
	do()
	c.gate.Store(nil)
	close(gate.Open)
}

// answers waits until the chat has answered a message.
func (c *longChat) answers(text string) {
	want := fmt.Sprintf("assistant: Answer to %q.", text)
	c.Eventually(want, func() bool {
		shown := c.Show(c.id)
		got := shown.Lines()
		return shown.Status == "waiting" && len(got) > 0 && got[len(got)-1] == want
	})
}

// judge asserts what has to hold at the end, and logs the line of the table.
func (c *longChat) judge() {
	paid := map[string]int{}
	for n := 2; n <= length; n += 10 {
		paid[fmt.Sprintf(`{"n":%d}`, n)] = 1
	}
	c.mu.Lock()
	require.Equal(c.t, paid, c.paid, "approved payments are made once, and denied ones never")
	c.mu.Unlock()
	if c.provider != nil {
		require.Empty(c.t, c.provider.Violations())
	}
	faults := 0
	for _, n := range c.faults.Counts() {
		faults += n
	}
	keys := map[string]bool{}
	for _, r := range c.far.Requests() {
		keys[r.Key] = true
	}
	require.LessOrEqual(c.t, len(c.far.Requests())-len(keys), faults, "only what went wrong was asked again")
	read, sent := 0, 0
	if c.marks {
		for _, n := range c.marked.Counts() {
			read, sent = read+n.Read, sent+n.Read+n.Written+n.New
		}
	} else {
		for _, u := range c.prefix.Usages() {
			read, sent = read+u.CachedTokens, sent+u.InputTokens
		}
	}
	c.t.Logf("%-12s %4d requests, %3d answers that went wrong, %2d compactions, %3d %% of the input tokens read from the cache",
		c.name, len(c.Model.Requests()), faults, c.Show(c.id).Usage["compactions"], 100*read/max(sent, 1))
}
