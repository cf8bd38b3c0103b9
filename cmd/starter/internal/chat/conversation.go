package chat

import (
	"fmt"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// conversation is what the chat knows about one agent. Its methods only change this data; they do no I/O.
type conversation struct {
	// fresh says that this chat starts the agent.
	fresh bool
	items []*item
	// calls has the newest call with each call ID of the provider. Some providers use an ID again.
	calls map[string]*item
	// outbox has the messages that are not in the transcript yet, oldest first.
	outbox []*outgoing

	status   client.Status
	waitsFor client.WaitsFor
	// begins says that the next message can bring a model: see [beginsTurn].
	begins  bool
	retry   *client.Retry
	partial *client.PartialText
	// unfinished is the newest text of a reply that has not come yet. It stays on the screen if the reply never comes.
	unfinished *client.PartialText
	turn       turn
	// noWorker and noServer say why the agent does not go on.
	noWorker, noServer bool
	// since is the time at which the agent began to work, and now is the time of the last event.
	since, now time.Time

	// snap, tree and waits come from the last [model.refresh]: the usage of the agent, its sub-agents, and the calls that wait for a person.
	snap  client.Snapshot
	tree  []client.Entry
	waits []client.Waits
	// decisions are on their way to the agent, oldest first. They stay after a change to another agent.
	decisions []*decision
	// chosen is the call that the person has selected among those that wait. Empty, or a call that waits no more, means the first one.
	chosen agent.Key
}

// outgoing is a message of the person that is not in the transcript yet.
type outgoing struct {
	id, text string
	// typed is the text without the files that it brings. reading says that these are not read yet.
	typed   string
	reading bool
	// steer makes it a steering message: see [client.Message].
	steer bool
	// model is the name of the model that the message brings; empty means none. Such a message does not steer.
	model string
	// answers is the question that the message answers; nil if it is no answer.
	answers  *client.Waits
	received bool
}

// see changes the conversation by a report of the agent. `changed` says that the snapshot, the tree or the waits may be out of date.
func (c *conversation) see(p client.Progress) (changed bool) {
	switch {
	case p.NoServer || p.NoWorker:
		c.noServer, c.noWorker = p.NoServer, p.NoWorker
		return false
	case p.Rewound:
		c.rewind(p.Index)
		return true
	case p.Message != nil:
		c.noServer, c.noWorker, c.partial, c.unfinished = false, false, nil, nil
		c.add(*p.Message, p.Index)
		return true
	case p.Status == "":
		return false
	}
	c.noServer, c.noWorker = false, false
	if p.Snapshot != nil {
		for _, o := range slices.Clone(c.outbox) {
			if text := p.Snapshot.RefusedMessage(o.id); text != "" {
				c.sent(o.id)
				c.note(text)
			}
		}
	}
	changed = c.status != p.Status || c.waitsFor != p.WaitsFor
	if p.Status == client.Running && c.status != client.Running {
		c.since = c.now
	}
	rested := c.status == "" && c.fresh || c.status != "" && c.rests()
	c.status, c.waitsFor, c.begins, c.retry, c.partial = p.Status, p.WaitsFor, beginsTurn(p), p.Retry, p.PartialText
	c.report(p.ToolOutputs)
	if p.PartialText != nil && p.PartialText.Text != "" {
		c.unfinished = p.PartialText
	}
	if c.rests() {
		c.waits = nil
		c.keepUnfinished()
	}
	c.measure(rested)
	return changed
}

func (c *conversation) report(outputs []client.ToolOutput) {
	for _, call := range c.calls {
		call.output = ""
	}
	for _, o := range outputs {
		if call := c.calls[o.CallID]; call != nil {
			call.output = o.Text
		}
	}
}

func (c *conversation) rests() bool {
	return client.Progress{Status: c.status, WaitsFor: c.waitsFor}.Rests()
}

// works reports whether there is something that an interrupt could stop.
func (c *conversation) works() bool { return c.status != "" && !c.rests() }

func (c *conversation) add(m agent.Message, index int) {
	if len(c.items) == 0 && index > 0 {
		c.note(fmt.Sprintf("%d earlier messages were summarised; `starter show --all` prints them.", index))
	}
	c.sent(string(m.Key))
	if m.Role == llm.Tool {
		if call := c.calls[m.ToolCallID]; call != nil {
			call.finish(m)
		} else {
			c.items = append(c.items, &item{kind: callItem, index: index, name: "a call whose message was summarised", result: m.Content, done: true})
		}
		return
	}
	ids := m.ToolCalls
	for _, it := range itemsOf(m, index) {
		c.items = append(c.items, it)
		if it.kind == callItem && len(ids) > 0 {
			c.calls[ids[0].ID] = it
			ids = ids[1:]
		}
	}
}

// sent removes a message from the outbox: it is in the transcript, or was not delivered. `key` is the ID of the message, or the key of the
// call that it answers.
func (c *conversation) sent(key string) {
	c.outbox = slices.DeleteFunc(c.outbox, func(o *outgoing) bool {
		return o.id == key || o.answers != nil && string(o.answers.Call.Key) == key
	})
}

// received returns the messages in the agent's queue that are not in the outbox. They come from an earlier chat or from other programs. It
// leaves out late results of calls, because no person has written them.
func (c *conversation) received() []agent.QueuedMessage {
	return slices.DeleteFunc(slices.Clone(c.snap.Queue), func(m agent.QueuedMessage) bool {
		message := agent.Message{Message: llm.Message{Role: llm.User}, Key: agent.Key(m.ID)}
		return message.BringsLateResult() || c.status.Ended() || slices.ContainsFunc(c.outbox, func(o *outgoing) bool { return o.id == m.ID }) ||
			slices.ContainsFunc(c.items, func(it *item) bool { return it.key == message.Key }) // taken since the snapshot
	})
}

func (c *conversation) rewind(index int) {
	c.items = slices.DeleteFunc(c.items, func(it *item) bool { return it.index >= index })
	c.note("The agent was reset to an earlier point.")
}

func (c *conversation) note(text string) {
	c.items = append(c.items, &item{kind: noteItem, index: -1, text: text})
}

func (c *conversation) trouble(text string, err error) {
	c.items = append(c.items, &item{kind: noteItem, index: -1, text: text, result: err.Error()})
}

func (c *conversation) refreshed(snap client.Snapshot, tree []client.Entry, waits []client.Waits) {
	c.snap, c.tree, c.waits = snap, slices.Clone(tree), slices.Clone(waits)
	c.tellTurn()
	c.markInterrupts()
	for _, child := range snap.Children { // the tree comes from a list of Temporal, which is some seconds old
		if i := slices.IndexFunc(c.tree, func(e client.Entry) bool { return e.ID == child.ID }); i >= 0 {
			c.tree[i].Status = child.Status
		}
	}
	if c.rests() {
		c.waits = nil // the status is newer than the waits
	}
}

func (c *conversation) subAgentsRun() bool {
	return len(c.tree) > 1 && slices.ContainsFunc(c.tree[1:], func(e client.Entry) bool { return !e.Status.Ended() })
}

// active returns the call on which the person decides next, or whose question the person answers next; nil if there is none.
func (c *conversation) active() *client.Waits {
	var first *client.Waits
	for i := range c.waits {
		switch w := &c.waits[i]; {
		case !c.undecided(*w):
		case w.Call.Key == c.chosen:
			return w
		case first == nil:
			first = w
		}
	}
	return first
}

// undecided reports whether a person can decide on a call or answer it now.
func (c *conversation) undecided(w client.Waits) bool { return forPerson(w) && c.deciding(w) == nil }

// forPerson reports whether a call waits for a person who reads the chat, and not for a result from outside.
func forPerson(w client.Waits) bool {
	f := w.Call.WaitsFor()
	return f == client.WaitsForApproval || f == client.WaitsForAnswer
}

func (c *conversation) approval() *client.Waits { return c.activeFor(client.WaitsForApproval) }

func (c *conversation) question() *client.Waits { return c.activeFor(client.WaitsForAnswer) }

func (c *conversation) activeFor(kind client.WaitsFor) *client.Waits {
	if w := c.active(); w != nil && w.Call.WaitsFor() == kind {
		return w
	}
	return nil
}

func (c *conversation) decided(key agent.Key) {
	c.waits = slices.DeleteFunc(c.waits, func(w client.Waits) bool { return w.Call.Key == key })
}

// people returns the messages of people in the transcript, oldest first.
func (c *conversation) people() []string {
	var texts []string
	for _, it := range c.items {
		if it.kind == userItem {
			texts = append(texts, typedMessage(it.text))
		}
	}
	return texts
}
