package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

// A chat completion sends the whole conversation each time, and no ID. So the gateway finds the agent whose transcript the messages are, among
// the agents whose ID is a hash of the caller, the agent's name, and the first message or the ID in a header.

// listLag is how long Temporal's list may lag behind. Until then, a conversation that is not found is looked for again.
const listLag, listPause = 2 * time.Second, 100 * time.Millisecond

// heard is what an agent has heard from outside, in the order of its transcript: messages, and waits that somebody has ended.
type heard struct {
	at   start
	text string // of a message
	// before is the number of messages of the transcript before it.
	before int
}

func (h heard) isMessage() bool { return h.at.Message != "" }

// past is the transcript of an agent, as far as a chat knows it.
type past struct {
	id    string
	heard []heard
	// open says that the last thing in heard are waits, and that one of them still waits for the client.
	open bool
	// last is the last section: the one that ends with the open waits, or the one after everything in heard. outcome says what has become of it.
	last    *section
	outcome outcome
}

// past reads what an agent has heard.
func (g *Gateway) past(ctx context.Context, id string) (*past, error) {
	p := &past{id: id}
	list := section{}      // never begins
	var asked []agent.Key  // by the waits of the last round
	var calls []agent.Call // without a result
	for u, err := range g.client.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range u.Events {
			before := list.at
			list.read(e)
			if list.at != before {
				h := heard{at: list.at, before: e.Position.Message}
				if asked = nil; e.Begins() {
					h.text = e.Message.Content
				}
				p.heard = append(p.heard, h)
			}
			if list.stops(e) {
				asked = append(asked, e.Wait.Key)
			}
		}
		if calls = u.Open; u.Status != "" {
			break
		}
	}
	n := len(p.heard)
	if n == 0 {
		return p, context.Cause(ctx)
	}
	p.open = slices.ContainsFunc(calls, func(c agent.Call) bool { return c.Waits() && slices.Contains(asked, c.Key) })
	p.last = &section{from: p.heard[n-1].at}
	if p.open && n > 1 {
		p.last.from = p.heard[n-2].at // the waits belong to the section that they end
	}
	var err error
	p.outcome, err = g.follow(ctx, id, p.last, false, nil)
	return p, err
}

// match compares the turns of a request with what the agent has heard. It returns how many turns are the same, and how much of what was heard
// they are. A wait may be ended by a turn, or by somebody elsewhere. One that is open is not part of it.
func (p *past) match(turns []turn) (same, of int) {
	for same < len(turns) && of < p.over() {
		h := p.heard[of]
		switch {
		case h.isMessage() && h.text != turns[same].text:
			return same, of
		case !h.isMessage() && of+1 < p.over() && p.heard[of+1].isMessage() && p.heard[of+1].text == turns[same].text && len(turns[same].results) == 0:
			of++ // the wait was ended elsewhere
		default:
			same, of = same+1, of+1
		}
	}
	return same, of
}

// lastWaits returns where the section begins that follows the last waits.
func (p *past) lastWaits() start {
	for _, h := range slices.Backward(p.heard) {
		if !h.isMessage() {
			return h.at
		}
	}
	return start{}
}

// over returns the number of things that were heard, without the waits that are open.
func (p *past) over() int {
	if p.open {
		return len(p.heard) - 1
	}
	return len(p.heard)
}

// speak gives the last turn of a chat to the agent to which it belongs, and returns where its section begins.
func (g *Gateway) speak(req *http.Request, a Agent, c chat, m client.Message) (responseRef, error) {
	ctx := req.Context()
	owner := access.FromContext(ctx).Name
	if isTask(c) {
		return g.oneOff(ctx, a, c, m)
	}
	name, err := header(req, g.headers...)
	if err != nil {
		return responseRef{}, err
	}
	id, repeatable, err := messageID(req)
	if err != nil {
		return responseRef{}, err
	}
	if m.ID = ""; repeatable {
		m.ID = id
	}
	f := finding{
		chat: c, base: agentPrefix + hashed("chat", owner, a.Name, c.turns[0].text), named: name != "", again: repeatable || retries(req),
	}
	if f.named {
		f.base = agentPrefix + hashed(owner, a.Name, name)
	}
	found, err := g.find(ctx, f)
	switch {
	case err != nil:
		return responseRef{}, err
	case found.past == nil:
		return g.begin(ctx, a, f, m)
	case found.same:
		return responseRef{Agent: found.past.id, start: found.past.last.from}, nil
	case found.next:
		return g.goOn(ctx, a, found.past, c, m)
	}
	return g.branch(ctx, a, f, found.past, m)
}

// finding says which conversation is looked for.
type finding struct {
	chat chat
	// base is the beginning of the IDs of the agents that may have it. With `named`, it is the ID of the first of them.
	base  string
	named bool
	// again says that the client sends the request again.
	again bool
}

// found is a conversation that a request may belong to. Its past is nil if there is none.
type found struct {
	past *past
	// same says that the last turn is the last message of the conversation, and next that it comes after it. Otherwise it comes in place of an
	// earlier message, or the last one is to be answered once more.
	same, next bool
}

// find looks for the conversation of a request. Temporal's list of agents may lag behind, so find waits a little before it gives up.
func (g *Gateway) find(ctx context.Context, f finding) (found, error) {
	if len(f.chat.turns) == 1 && !f.named && !f.again {
		return found{}, nil // a new conversation, also if another one has begun with the same words
	}
	for began := time.Now(); ; {
		best, err := g.best(ctx, f)
		if err != nil || best.past != nil || time.Since(began) > listLag || f.named && len(f.chat.turns) == 1 {
			return best, err
		}
		select {
		case <-ctx.Done():
			return found{}, context.Cause(ctx)
		case <-time.After(listPause):
		}
	}
}

// best compares a request with the conversations that there are.
func (g *Gateway) best(ctx context.Context, f finding) (best found, err error) {
	ids, err := g.begun(ctx, f.base)
	if err != nil {
		return best, err
	}
	if f.named && !slices.Contains(ids, f.base) {
		if _, err := g.client.Find(ctx, f.base); err == nil {
			ids = append(ids, f.base)
		}
	}
	turns := f.chat.turns
	for _, id := range ids {
		p, err := g.past(ctx, id)
		if err != nil {
			return best, err
		}
		same, of := p.match(turns)
		switch {
		case len(p.heard) == 0:
		case same == len(turns)-1 && of == p.over():
			return found{past: p, next: true}, nil
		case same == len(turns) && of == p.over() && (f.again || p.outcome.ending == running):
			return found{past: p, same: true}, nil
		case best.past == nil && same >= len(turns)-1 && same > 0:
			best.past = p
		}
	}
	return best, nil
}

// begin starts a new agent with the chat.
func (g *Gateway) begin(ctx context.Context, a Agent, f finding, m client.Message) (responseRef, error) {
	if len(f.chat.turns[len(f.chat.turns)-1].results) > 0 {
		return responseRef{}, invalid("messages", "the tool messages belong to no conversation that is known here")
	}
	m.Text = f.chat.whole()
	id := f.base
	switch {
	case f.named:
		if found, err := g.client.Find(ctx, id); err == nil && found.ID != "" { // its messages are others
			id += "-" + hashed(uuid.NewString())
		}
		return g.say(ctx, a, id, 0, m)
	case m.ID != "":
		id += "-" + hashed(m.ID) // the same request sent twice at once is one conversation
	default:
		id, m.ID = id+"-"+hashed(uuid.NewString()), firstMessage
	}
	_, err := g.clientFor(a).Start(ctx, client.StartOptions{
		ID: id, Agent: a.Name, Mode: agent.Chat, Message: m.Text, MessageID: m.ID, Images: m.Images, By: m.By, MessageMetadata: m.Metadata,
		MessageOverrides: m.Overrides, PartialText: m.PartialText, Metadata: ownedBy(ctx),
	})
	return responseRef{Agent: id, start: start{Message: m.ID}}, err
}

// firstMessage is the ID of the first message of a conversation whose agent has an ID of its own.
const firstMessage = "first"

// say sends a message to an agent, which has heard n things before. Without an ID of its own, the message gets one from its place and its text,
// so that the same request sent twice at once is one message.
func (g *Gateway) say(ctx context.Context, a Agent, id string, n int, m client.Message) (responseRef, error) {
	if m.ID == "" {
		m.ID = "m-" + hashed(id, strconv.Itoa(n), m.Text)
	}
	return g.give(ctx, target{client: g.clientFor(a), id: id, agent: a.Name}, given{text: m.Text, images: m.Images}, m)
}

// goOn gives the last turn to an agent that has heard all turns before.
func (g *Gateway) goOn(ctx context.Context, a Agent, p *past, c chat, m client.Message) (responseRef, error) {
	last := c.turns[len(c.turns)-1]
	switch {
	case !p.open && len(last.results) > 0 && last.text == "":
		return responseRef{}, conflict("already_settled", "the tool calls have their results already")
	case !p.open:
		if p.outcome.ending == running {
			return responseRef{}, conflict("conversation_locked", "the agent has not answered the message before; wait for its answer")
		}
		return g.say(ctx, a, p.id, len(p.heard), m)
	}
	to := target{client: g.clientFor(a), id: p.id, agent: a.Name, from: p.last}
	var all []settled
	for _, e := range p.last.asks {
		switch e.Wait.For {
		case agent.WaitsForApproval:
			d := agent.Decision{Approve: approves(last.text)}
			if !d.Approve {
				d.Reason = last.text
			}
			all = append(all, settled{e.Wait.Key, d})
		case agent.WaitsForAnswer:
			all = append(all, settled{e.Wait.Key, agent.Decision{Result: &agent.GivenResult{Content: last.text}}})
		default:
			i := slices.IndexFunc(last.results, func(s settled) bool { return s.key == e.Wait.Key })
			if i < 0 {
				return responseRef{}, invalid("messages", "the tool call "+quoted(string(e.Wait.Key))+" has no tool message; send one for each tool call")
			}
			all = append(all, last.results[i])
		}
	}
	at, err := g.settle(ctx, to, all)
	return responseRef{Agent: p.id, start: at}, err
}

// branch makes a fork before the message that the last turn replaces, or asks for again. A client that asks for the same change twice gets one
// fork, and a further one for each time that it asks for another answer.
func (g *Gateway) branch(ctx context.Context, a Agent, f finding, p *past, m client.Message) (responseRef, error) {
	same, of := p.match(f.chat.turns)
	texts := []string{p.id}
	if same == len(f.chat.turns) { // the same message again
		of--
		texts = append(texts, uuid.NewString())
	}
	if of >= len(p.heard) || !p.heard[of].isMessage() || p.heard[of].before == 0 {
		f.named = false
		return g.begin(ctx, a, f, m)
	}
	for _, t := range f.chat.turns {
		texts = append(texts, t.text)
	}
	id := f.base + "-" + hashed(texts...)
	if _, err := g.clientFor(a).Fork(ctx, p.id, client.ForkOptions{At: p.heard[of].before, ID: id, Mode: agent.Chat, By: m.By}); err != nil {
		return responseRef{}, err
	}
	return g.say(ctx, a, id, of, m)
}

// isTask reports whether a chat client asks for a title, tags or the like. Such a request has all that it needs in one message.
func isTask(c chat) bool {
	text := c.turns[len(c.turns)-1].text
	return strings.HasPrefix(text, "### Task:\n") || strings.HasPrefix(text, "Provide a concise, 5-word-or-less title for the conversation")
}

// oneOff lets an agent of its own answer a request, with one model call, so that no conversation has it in its transcript.
func (g *Gateway) oneOff(ctx context.Context, a Agent, c chat, m client.Message) (responseRef, error) {
	id := agentPrefix + "task-" + hashed(access.FromContext(ctx).Name, a.Name, c.whole())
	m.ID, m.Text = "task", c.whole()
	m.Overrides.Limits.ModelCalls = 1
	started, err := g.clientFor(a).Start(ctx, client.StartOptions{
		ID: id, Agent: a.Name, Mode: agent.Task, Message: m.Text, MessageID: m.ID, By: m.By, MessageOverrides: m.Overrides, PartialText: m.PartialText, Metadata: ownedBy(ctx),
	})
	return responseRef{Agent: started.ID, start: start{Message: m.ID}}, err
}
