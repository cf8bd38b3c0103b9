package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// chaosTeam is a part of the configuration file of TestChaos: the last fields of the agent x, and all other agents. They have
// sub-agents to depth 3. The tool wire of x, of saver and of talker needs an approval, and the results of deploy and of ask_user come
// from outside. The sub-agent scout works in the background. The agent sloth exceeds its time limit. The agent saver has a small token
// limit. The conversation of the agent talker is summarised.
const chaosTeam = `    tools: [far.*, deploy, ask_user]
    approval: {far.wire: always}
    agents: [boss, clerk, scout, sloth]
    background: [scout]
    limits: {depth: 3}
  boss:
    model: main
    description: asks the chief
    agents: [chief]
` + chiefAndClerk + `  scout:
    model: main
    description: looks around
    tools: [far.*]
  sloth:
    model: main
    description: takes its time
    limits: {time: 1s}
  saver:
    model: main
    agents: [clerk]
    tools: [far.*]
    approval: {far.wire: always}
    limits: {tokens: 700}
  talker:
    model: main
    tools: [far.*]
    approval: {far.wire: always}
    limits: {context_tokens: 1000}
`

// napTime is how long the model takes to reply to the sub-agent sloth. It is longer than the time limit of sloth.
const napTime = 2500 * time.Millisecond

// chaosReply returns the reply of the scripted model to a request. The reply depends only on the last user message and the
// number of replies to this message, so a repeated request gets the same reply. A user message begins with a word that
// selects the script, and a number that no other message has.
func chaosReply(req llm.Request) llm.Reply {
	text, step := place(req)
	word, rest, _ := strings.Cut(text, " ")
	number, _, _ := strings.Cut(rest, " ")
	n := `{"n":` + number + `}`
	below := func(tool, task string) llm.ToolCall {
		return llmtest.ToolCall("s", tool, fmt.Sprintf(`{"task":%q}`, task+" "+number))
	}
	// The arguments differ, because the checks at the end know a place of the script by them.
	wire := func(part int) llm.ToolCall {
		return llmtest.ToolCall(fmt.Sprint("w", part), "wire", fmt.Sprintf(`{"n":%s,"part":%d}`, number, part))
	}
	read, pay := llmtest.ToolCall("r", "read", n), llmtest.ToolCall("p", "pay", n)
	script := map[string][]llm.Reply{
		"pay":  {llmtest.Call(pay)},
		"wire": {llmtest.Call(wire(1), llmtest.ToolCall("d", "deploy", n)), llmtest.Call(wire(2))},
		"wires": {
			llmtest.Call(wire(1), wire(2), pay), llmtest.Call(wire(3), wire(4)), llmtest.Call(wire(5)),
		},
		"plan": {
			llmtest.Call(below("scout", "both"), wire(1), llmtest.ToolCall("d", "deploy", n), llmtest.ToolCall("a", "ask_user", `{"question":"how many?"}`)),
			llmtest.Call(wire(2), wire(3)),
		},
		"scout": {llmtest.Call(below("scout", "both"))},
		"both":  {llmtest.Call(read, pay)},
		"steps": {llmtest.Call(read), llmtest.Call(pay)},
		"one":   {llmtest.Call(below("clerk", "both"))},
		"two":   {llmtest.Call(below("chief", "one"))},
		"three": {llmtest.Call(below("boss", "two"), wire(1)), llmtest.Call(wire(2))},
		"slow":  {llmtest.Call(below("sloth", "nap")), llmtest.Call(pay, wire(1))},
		"spend": {llmtest.Call(wire(1), below("clerk", "both")), llmtest.Call(wire(2))},
		"ask":   {llmtest.Call(wire(1))},
	}[word]
	reply := llmtest.Say("done: " + word + " " + number)
	if step < len(script) {
		reply = script[step]
	}
	for _, m := range req.Messages {
		reply.Usage.InputTokens += len(m.Content) / 4
	}
	reply.Usage.OutputTokens = 20
	return reply
}

// cast describes one agent of a chaos run and the messages that it gets. The field first is the message with which the agent is
// started.
type cast struct {
	id, agent string
	mode      agent.Mode
	first     string
	// senders has the further messages of each sender. A sender sends its messages one after the other. The senders do not wait
	// for each other.
	senders [][]reagent.Message
}

// castAll chooses the agents of a chaos run and the messages that they get. The choice depends only on the seed. People have something to
// decide for each agent, unless it is disturbed before.
func (c *chaos) castAll() []cast {
	words := []string{"pay", "both", "steps", "one", "three", "slow", "say", "wire", "wires", "scout"}
	number := 1000
	say := func(word string) string {
		number++
		return fmt.Sprint(word, " ", number)
	}
	some := func() string { return say(words[c.random.IntN(len(words))]) }
	var all []cast
	for i := range c.size {
		a := cast{id: fmt.Sprint(c.Queue, "-", i), agent: "x", mode: agent.Chat}
		switch i % 8 {
		case 0:
			a.mode, a.first = agent.Task, say("three")
		case 1:
			a.mode, a.first = agent.Task, say("slow")
		case 4:
			a.mode, a.first = agent.Task, say("plan")
		case 6:
			a.mode, a.first = agent.Task, say("wires")
		case 7: // what people permit and revoke matters in later turns
			a.first, a.senders = say("wires"), [][]reagent.Message{{{Text: say("wires")}, {Text: say("wire")}, {Text: say("wires")}}}
		case 2:
			a.mode, a.first, a.agent = agent.Task, say("spend"), "saver"
		case 3:
			a.agent, a.first = "talker", say("ask")
			a.senders = [][]reagent.Message{{}}
			for range 6 {
				a.senders[0] = append(a.senders[0], reagent.Message{Text: say("say") + " " + strings.Repeat("words ", 200)})
			}
		default:
			a.first = some()
			a.senders = make([][]reagent.Message, 2)
			for range 3 {
				a.senders[0] = append(a.senders[0], reagent.Message{Text: some()})
				a.senders[1] = append(a.senders[1], reagent.Message{Text: say("say"), Steer: true})
			}
		}
		for s := range a.senders {
			for m := range a.senders[s] {
				a.senders[s][m].ID = fmt.Sprint("message-", s, ".", m)
			}
		}
		all = append(all, a)
	}
	return all
}

// play starts an agent, sends it the messages of all its senders, and brings it to its end: see [chaos.end]. It sends some
// messages twice.
func (c *chaos) play(ctx context.Context, a cast) error {
	err := until(ctx, a.id+" is started", func(ctx context.Context) (bool, error) {
		_, err := c.Client.Start(ctx, reagent.StartOptions{ID: a.id, Agent: a.agent, Mode: a.mode, Message: a.first})
		return err == nil, err
	})
	if err != nil {
		return err
	}
	c.begun(a)
	sent := make(chan error)
	for _, messages := range a.senders {
		go func() { sent <- c.sendAll(ctx, a.id, messages) }()
	}
	for range a.senders {
		if e := <-sent; e != nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended[a.id] = true
	}()
	return c.end(ctx, a.id)
}

func (c *chaos) sendAll(ctx context.Context, id string, messages []reagent.Message) error {
	for i, m := range messages {
		times := 1 + i%2
		for range times {
			if err := c.deliver(ctx, id, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver sends a message to an agent until the agent has accepted it. If the agent has ended, deliver resumes it and tries
// again. The agent can end at any time, because after a reset Temporal delivers an earlier cancel again.
func (c *chaos) deliver(ctx context.Context, id string, m reagent.Message) error {
	return until(ctx, id+" has "+m.ID, func(ctx context.Context) (bool, error) {
		_, err := c.Client.Send(ctx, id, m)
		if errors.Is(err, reagent.ErrClosed) {
			if _, failed := c.Client.Resume(ctx, id, reagent.ResumeOptions{}); !errors.Is(failed, reagent.ErrNotResumable) {
				err = errors.Join(err, failed)
			}
		}
		return err == nil, err
	})
}

// chats reports whether the agent with the given ID is a chat. A task that waits for people or for a sub-agent must not be closed.
func (c *chaos) chats(id string) bool {
	return slices.ContainsFunc(c.all, func(a cast) bool { return a.id == id && a.mode == agent.Chat })
}

// end waits until an agent has completed. Meanwhile, it closes a chat that waits for a message or is held. If the turn of an agent was
// interrupted, end sends a message: see [surroundings.goOn]. If the agent was cancelled or terminated, has timed out, or has ended because of
// an interrupt, end resumes it. If the agent has failed otherwise, end returns an error.
func (c *chaos) end(ctx context.Context, id string) error {
	var failed error
	var last reagent.Snapshot
	err := until(ctx, id+" completes", func(ctx context.Context) (bool, error) {
		look, err := c.Client.ShowRecorded(ctx, id)
		last = look
		switch {
		case err != nil:
			return false, err
		case look.Status == reagent.Completed:
			return true, nil
		case look.Status == reagent.Failed && look.Class != agent.Interrupted: // an interrupted turn of a closing chat ends the chat
			failed = fmt.Errorf("%s failed: %s: %s", id, look.Class, look.Failure)
			return true, nil
		case look.Status.Ended():
			_, err = c.Client.Resume(ctx, id, reagent.ResumeOptions{})
		case look.Status == reagent.Held && look.Class == agent.Interrupted:
			err = c.goOn(ctx, id, "say")
		case c.chats(id) && (look.Status == reagent.Waiting || look.Status == reagent.Held):
			err = c.Client.Close(ctx, id)
		}
		return false, err
	})
	if err == nil {
		err = failed
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%w\n%s\nmessages %v", err, c.waitsFor(id, last), last.Messages)
	}
	if err != nil {
		c.tell(id)
	}
	return err
}

// tell logs what Temporal knows about an agent: see [surroundings.logAgent]. It also logs the events of deleted runs.
func (c *chaos) tell(id string) {
	c.logAgent(id)
	for run, d := range c.kept {
		if d.id == id {
			c.T.Logf("run %s of %s was deleted:%s", run, id, eventLines(d.history))
		}
	}
}

// begun records that an agent was started, so that it can be disturbed.
func (c *chaos) begun(a cast) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = append(c.started, a.id)
	slices.Sort(c.started)
}
