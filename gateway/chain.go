package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

// A chat completion sends the whole conversation each time, and no ID. So the gateway finds the agent whose transcript the messages are, among
// the agents whose ID is a hash of the caller, the agent's name, and the first message or the ID in a header.

// maxCandidates limits the agents whose transcripts are compared with a request, newest first.
const maxCandidates = 30

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
	base := agentPrefix + hashed("chat", owner, a.Name, c.turns[0].text)
	if name != "" {
		base = agentPrefix + hashed(owner, a.Name, name)
	}
	again := repeatable || retries(req)
	candidates, err := g.candidates(ctx, base, name != "", c, again)
	if err != nil {
		return responseRef{}, err
	}
	var best *past
	for _, candidate := range candidates {
		p, err := g.past(ctx, candidate)
		if err != nil {
			return responseRef{}, err
		}
		if len(p.heard) == 0 {
			continue
		}
		same, of := p.match(c.turns)
		if same == len(c.turns)-1 && of == p.over() {
			return g.goOn(ctx, a, p, c, m)
		}
		if same == len(c.turns) && of == p.over() && (again || p.outcome.ending == running) {
			return responseRef{Agent: p.id, start: p.last.from}, nil
		}
		if best == nil && (same == len(c.turns)-1 || same == len(c.turns)) && same > 0 {
			best = p
		}
	}
	if best != nil {
		return g.branch(ctx, a, base, best, c, m)
	}
	return g.begin(ctx, a, base, name != "", c, m)
}

// candidates returns the IDs of the agents that may have the conversation, newest first.
func (g *Gateway) candidates(ctx context.Context, base string, named bool, c chat, again bool) ([]string, error) {
	if len(c.turns) == 1 && !named && !again {
		return nil, nil // a new conversation, also if another one has begun with the same words
	}
	var found []client.Entry
	for e, err := range g.client.List(ctx, client.ListOptions{IDPrefix: base}) {
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	slices.SortStableFunc(found, func(x, y client.Entry) int { return y.Started.Compare(x.Started) })
	var ids []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	// Temporal's list may lag behind, so the agents that the last requests have made are looked for by their IDs.
	missed := func(id string) bool {
		if slices.Contains(ids, id) {
			return true
		}
		_, err := g.client.Find(ctx, id)
		if err == nil {
			ids = slices.Insert(ids, 0, id)
		}
		return err == nil
	}
	if named {
		missed(base)
	} else {
		last := 0
		for _, id := range ids {
			if n, err := strconv.Atoi(strings.TrimPrefix(id, base+"-")); err == nil {
				last = max(last, n)
			}
		}
		for missed(numbered(base, last+1)) {
			last++
		}
	}
	for n := len(c.turns); n > 0 && len(c.turns)-n < maxCandidates; n-- {
		missed(forkID(base, c.turns[:n], ""))
	}
	return ids[:min(len(ids), maxCandidates)], nil
}

// forkID returns the ID of the fork that begins with these turns.
func forkID(base string, turns []turn, again string) string {
	texts := []string{again}
	for _, t := range turns {
		texts = append(texts, t.text)
	}
	return base + "-f" + hashed(texts...)
}

// begin starts a new agent with the chat.
func (g *Gateway) begin(ctx context.Context, a Agent, base string, named bool, c chat, m client.Message) (responseRef, error) {
	if len(c.turns[len(c.turns)-1].results) > 0 {
		return responseRef{}, invalid("messages", "the tool messages belong to no conversation that is known here")
	}
	m.Text = c.whole()
	if named {
		return g.say(ctx, a, base, 0, m)
	}
	return g.start(ctx, target{client: g.clientFor(a), agent: a.Name, base: base}, m, false)
}

// start starts an agent with the next free number, and its first message. Two conversations that begin with the same words are two agents. If
// `again` is set, the client sends the request again, and start returns the newest agent if there is one.
func (g *Gateway) start(ctx context.Context, to target, m client.Message, again bool) (responseRef, error) {
	n, err := g.newest(ctx, to.base)
	if err != nil {
		return responseRef{}, err
	}
	own := m.ID
	if again && n > 0 && own == "" {
		return responseRef{Agent: numbered(to.base, n), start: start{Message: firstMessage}}, nil
	}
	for {
		n++
		if m.ID = own; own == "" {
			m.ID = firstMessage
		}
		id := numbered(to.base, n)
		started, err := to.client.Start(ctx, client.StartOptions{
			ID: id, Agent: to.agent, Mode: agent.Chat, Message: m.Text, MessageID: m.ID, Images: m.Images, By: m.By, MessageMetadata: m.Metadata,
			MessageOverrides: m.Overrides, PartialText: m.PartialText, Metadata: ownedBy(ctx),
		})
		if err != nil {
			return responseRef{}, err
		}
		if !started.Found {
			return responseRef{Agent: id, start: start{Message: m.ID}}, nil
		}
	}
}

// firstMessage is the ID of the first message of an agent with a number.
const firstMessage = "first"

// say sends a message to an agent, which has heard n things before. Without an ID of its own, the message gets one from its place and its text, so that the same
// request sent twice at once is one message.
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

// branch makes a fork before the message that the last turn replaces, or asks for again.
func (g *Gateway) branch(ctx context.Context, a Agent, base string, p *past, c chat, m client.Message) (responseRef, error) {
	same, of := p.match(c.turns)
	again := ""
	if same == len(c.turns) { // the same message again
		of--
		again = "again"
	}
	if of >= len(p.heard) || !p.heard[of].isMessage() {
		return g.begin(ctx, a, base, false, c, m)
	}
	keep := p.heard[of].before
	if keep == 0 {
		return g.begin(ctx, a, base, false, c, m)
	}
	id := forkID(base, c.turns, again)
	if again != "" {
		n, err := g.newest(ctx, id)
		if err != nil {
			return responseRef{}, err
		}
		id = numbered(id, n+1)
	}
	if _, err := g.clientFor(a).Fork(ctx, p.id, client.ForkOptions{At: keep, ID: id, Mode: agent.Chat}); err != nil {
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
