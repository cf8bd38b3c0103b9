package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/gateway/access"
)

// target is the agent to which a request goes.
type target struct {
	client *client.Client
	id     string
	agent  string
	// from is the section that the request goes on from; nil if there is none.
	from *section
}

func (g *Gateway) createResponse(w http.ResponseWriter, req *http.Request) error {
	var r responseRequest
	if err := readRequest(req, &r); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	in, err := r.Input.read()
	if err != nil {
		return err
	}
	if r.PreviousResponseID == "" && r.Conversation == "" && in.after.Agent != "" {
		r.PreviousResponseID = in.after.id()
	}
	m, err := r.message(req, in)
	if err != nil {
		return err
	}
	m.PartialText = r.Stream && !g.hold
	var ref responseRef
	var to target
	if r.PreviousResponseID == "" && r.Conversation == "" {
		to, ref, err = g.inChat(req, &r, in, m)
	} else if to, err = g.target(req, &r, &in, &m); err == nil {
		ref, err = g.give(req.Context(), to, in, m)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Stream:
		return g.streamResponse(w, req, to.client, ref, to.agent, -1)
	case r.Background: // without a look at the agent, which no worker may have begun
		s := &section{from: ref.start, message: &agent.Message{Metadata: m.Metadata, Overrides: m.Overrides, Time: time.Now().UnixMilli()}}
		queued := newResponse(ref, s, to.agent)
		queued.Status = "queued"
		writeJSON(w, http.StatusOK, queued)
		return nil
	}
	return g.answerWith(w, req, ref, to.agent, true)
}

// inChat gives the input to the agent that has the conversation of which the input tells, as in a chat completion.
func (g *Gateway) inChat(req *http.Request, r *responseRequest, in given, m client.Message) (target, responseRef, error) {
	switch {
	case len(in.settled) > 0:
		return target{}, responseRef{}, invalid("previous_response_id", "the input settles calls; name the response that asks for them in previous_response_id")
	case !in.hasMessage():
		return target{}, responseRef{}, noInput()
	}
	a, model, err := g.agentNamed(req.Context(), r.Model)
	if err != nil {
		return target{}, responseRef{}, err
	}
	m.Overrides.Model = model
	ref, err := g.speak(req, a, chat{turns: append(in.turns, turn{text: in.text, images: in.images})}, m)
	return target{client: g.clientFor(a), id: ref.Agent, agent: a.Name}, ref, err
}

func noInput() error {
	return invalid("input", "the input has no message of a user and settles no call; give one of them")
}

// target finds the agent of the previous response or of the conversation that a request names. For a branch from an earlier response, it makes
// a fork.
func (g *Gateway) target(req *http.Request, r *responseRequest, in *given, m *client.Message) (target, error) {
	ctx := req.Context()
	if r.PreviousResponseID != "" {
		return g.after(ctx, r.PreviousResponseID, in, m, retries(req))
	}
	gone := missing("the conversation", string(r.Conversation))
	id, ok := parseConversationID(string(r.Conversation))
	if !ok {
		return target{}, gone
	}
	found, err := g.conversationOf(ctx, access.Talk, id, gone)
	if err == nil {
		return target{client: g.client, id: id, agent: found.Agent}, nil
	}
	if !errors.Is(err, gone) || !owns(ctx, id) {
		return target{}, err
	}
	a, model, err := g.agentNamed(ctx, r.Model) // no response has begun in it
	m.Overrides.Model = model
	return target{client: g.clientFor(a), id: id, agent: a.Name}, err
}

// after returns the agent for a request that goes on from a response. If the agent waits for the answer to a question, the message of the
// request becomes this answer. A message that the agent has got before gets its ID again: the one with the same ID or, if `again` is set because
// the client sends the request again, the one with the same text.
func (g *Gateway) after(ctx context.Context, previous string, in *given, m *client.Message, again bool) (target, error) {
	gone := &apiError{
		Status: http.StatusBadRequest, Type: typeInvalid, Param: "previous_response_id", Code: "previous_response_not_found",
		Message: "the previous response " + quoted(previous) + " does not exist, or you may not read it",
	}
	ref, ok := parseResponseID(previous)
	if !ok {
		return target{}, gone
	}
	found, err := g.conversationOf(ctx, access.Talk, ref.Agent, gone)
	if err != nil {
		return target{}, err
	}
	to := target{client: g.client, id: ref.Agent, agent: found.Agent, from: &section{from: ref.start}}
	o, err := g.follow(ctx, ref.Agent, to.from, false, nil)
	switch {
	case errors.Is(err, errNotThere):
		return to, gone
	case err != nil:
		return to, err
	case o.ending == running:
		return to, conflict("response_in_progress", "the previous response is still in progress; wait for it, or cancel it")
	case o.ending != waiting && len(in.settled) > 0:
		return to, invalid("input", "the previous response waits for no call")
	case len(in.settled) > 0 || !in.hasMessage():
		return to, nil
	}
	p, err := g.past(ctx, ref.Agent)
	if err != nil {
		return to, err
	}
	if p.open && p.last.from == ref.start {
		return to, in.answer(to.from.asks)
	}
	last := p.heard[len(p.heard)-1].at
	if last == ref.start || o.ending == waiting && last == to.from.at {
		return to, nil
	}
	for i, h := range p.heard[1:] {
		if p.heard[i].at == ref.start && h.isMessage() && (h.at.Message == m.ID || again && h.text == in.text) {
			m.ID = h.at.Message
			return to, nil
		}
	}
	// Somebody has gone on from the previous response before, so this is a branch.
	to.id = agentPrefix + hashed(ref.Agent, previous, m.ID)
	_, err = g.client.Fork(ctx, ref.Agent, client.ForkOptions{At: to.from.messages, ID: to.id, Mode: agent.Chat})
	to.from = nil
	return to, err
}

// answer makes the message the answer to the questions that wait.
func (g *given) answer(asks []conversation.Event) error {
	for _, e := range asks {
		if e.Wait.For != agent.WaitsForAnswer {
			return invalid("input", "the call "+quoted(string(e.Wait.Key))+" of the previous response waits: send an mcp_approval_response or a function_call_output for each call that waits")
		}
		g.settled = append(g.settled, settled{e.Wait.Key, agent.Decision{Result: &agent.GivenResult{Content: g.text}}})
	}
	g.text, g.images = "", nil
	return nil
}

// give gives the input of a request to the agent, and returns the response to it.
func (g *Gateway) give(ctx context.Context, to target, in given, m client.Message) (responseRef, error) {
	ref := responseRef{Agent: to.id}
	if len(in.settled) > 0 {
		at, err := g.settle(ctx, to, in.settled)
		if err != nil || !in.hasMessage() {
			ref.start = at
			return ref, err
		}
	}
	if !in.hasMessage() {
		return ref, noInput()
	}
	// Whoever may not answer questions does not do so by a message.
	m.Automatic = !access.FromContext(ctx).May(access.Approve, to.agent)
	sent, err := to.client.SendOrStart(ctx, to.id, m, client.StartOptions{Agent: to.agent, By: m.By, Metadata: ownedBy(ctx)})
	switch {
	case err != nil:
		return ref, err
	case sent.Differs:
		return ref, conflict("idempotency_key_reused", "the Idempotency-Key was used for another message before; choose another one")
	case sent.Answered != "": // it has become the answer to a question
		p, err := g.past(ctx, to.id)
		if err == nil {
			ref.start = p.lastWaits()
		}
		return ref, err
	}
	ref.Message = m.ID
	return ref, nil
}

// ownedBy returns the metadata of a conversation that the caller starts.
func ownedBy(ctx context.Context) agent.Metadata {
	if name := access.FromContext(ctx).Name; name != "" {
		return agent.Metadata{access.OwnerKey: name}
	}
	return nil
}

// answerWith answers a request with a response. If `whole` is set, it waits for the end.
func (g *Gateway) answerWith(w http.ResponseWriter, req *http.Request, ref responseRef, agentName string, whole bool) error {
	r, err := g.read(req.Context(), ref, agentName, whole)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, r)
	return nil
}

// read returns a response as it is now, or at its end.
func (g *Gateway) read(ctx context.Context, ref responseRef, agentName string, whole bool) (*response, error) {
	s := &section{from: ref.start}
	p := newProjection(ref, agentName, s, nil)
	o, err := g.follow(ctx, ref.Agent, s, whole, p)
	if err != nil {
		g.hungUp(ctx, ref.Agent)
		return nil, err
	}
	if p.response == nil {
		p.response = newResponse(ref, s, agentName)
		p.response.Status = "queued"
	}
	p.finish(o)
	return p.response, nil
}

// hungUp interrupts the turn of a client that is gone, if the gateway is to do so.
func (g *Gateway) hungUp(ctx context.Context, id string) {
	if g.hangUp && ctx.Err() != nil {
		_ = g.client.Interrupt(context.WithoutCancel(ctx), id)
	}
}

// streamResponse streams a response, without the events up to the number `after`.
func (g *Gateway) streamResponse(w http.ResponseWriter, req *http.Request, c *client.Client, ref responseRef, agentName string, after int) error {
	s := &section{from: ref.start}
	out := newStream(w, g.ping)
	defer out.end()
	p := newProjection(ref, agentName, s, func(e streamEvent) {
		if e["sequence_number"].(int) > after {
			out.event(e["type"].(string), e)
		}
	})
	o, err := g.follow(req.Context(), ref.Agent, s, true, p)
	if req.Context().Err() != nil {
		g.hungUp(req.Context(), ref.Agent)
		return nil
	}
	if p.response == nil {
		p.begin()
	}
	if err != nil {
		e := apiErrorOf(err)
		p.send("error", streamEvent{"code": e.Code, "message": e.Message, "param": nil})
		o = outcome{ending: failed, reason: e.Message}
	}
	p.finish(o)
	return nil
}

// responseOf returns the response that a request names.
func (g *Gateway) responseOf(req *http.Request, scope access.Scope) (responseRef, client.Entry, error) {
	id := req.PathValue("id")
	gone := missing("the response", id)
	ref, ok := parseResponseID(id)
	if !ok {
		return ref, client.Entry{}, gone
	}
	found, err := g.conversationOf(req.Context(), scope, ref.Agent, gone)
	return ref, found, err
}

func (g *Gateway) getResponse(w http.ResponseWriter, req *http.Request) error {
	ref, found, err := g.responseOf(req, access.Read)
	if err != nil {
		return err
	}
	query := req.URL.Query()
	if query.Get("stream") != "true" {
		return g.orMissing(g.answerWith(w, req, ref, found.Agent, false), req)
	}
	after := -1
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return invalid("starting_after", "starting_after must be the sequence_number of an event, which is 0 or more")
		}
	}
	if _, err := g.read(req.Context(), ref, found.Agent, false); err != nil { // before the headers are sent
		return g.orMissing(err, req)
	}
	if found.Status == client.Running && !g.hold {
		_ = g.client.RequestPartialText(req.Context(), ref.Agent, partialTextTime) // without it, the text comes when it is recorded
	}
	return g.streamResponse(w, req, g.client, ref, found.Agent, after)
}

func (g *Gateway) orMissing(err error, req *http.Request) error {
	if errors.Is(err, errNotThere) {
		return missing("the response", req.PathValue("id"))
	}
	return err
}

// cancelTime is how long a request waits for a response to begin, so that it can be cancelled.
const cancelTime = 20 * time.Second

func (g *Gateway) cancelResponse(w http.ResponseWriter, req *http.Request) error {
	ref, found, err := g.responseOf(req, access.Talk)
	if err != nil {
		return err
	}
	r, err := g.read(req.Context(), ref, found.Agent, false)
	if err != nil {
		return g.orMissing(err, req)
	}
	late := time.After(cancelTime)
	for r.Status == "queued" || r.Status == "in_progress" {
		if r.Status == "in_progress" { // what runs now is this response, and no other one of the conversation
			err := g.client.Interrupt(req.Context(), ref.Agent)
			if err == nil {
				return g.answerWith(w, req, ref, found.Agent, true)
			}
			if !errors.Is(err, client.ErrRefused) {
				return err
			}
		}
		select { // it is about to begin, or has just ended
		case <-time.After(100 * time.Millisecond):
		case <-late:
			return conflict("response_queued", "the response has not begun, because the agent does something else first; cancel it again in a moment")
		case <-req.Context().Done():
			return context.Cause(req.Context())
		}
		if r, err = g.read(req.Context(), ref, found.Agent, false); err != nil {
			return g.orMissing(err, req)
		}
	}
	writeJSON(w, http.StatusOK, r)
	return nil
}

// deleteResponse deletes the conversation of a response that is its only one. A transcript is never edited.
func (g *Gateway) deleteResponse(w http.ResponseWriter, req *http.Request) error {
	ref, found, err := g.responseOf(req, access.Talk)
	if err != nil {
		return err
	}
	s := &section{from: ref.start}
	if _, err := g.follow(req.Context(), ref.Agent, s, false, nil); err != nil {
		return g.orMissing(err, req)
	}
	p, err := g.past(req.Context(), ref.Agent)
	if err != nil {
		return err
	}
	if s.previous != nil || len(p.heard) > 1 {
		return conflict("response_in_conversation", "the response is part of a conversation with others, and a transcript is never edited; DELETE /v1/conversations/"+conversationID(ref.Agent)+" deletes all of it")
	}
	if err := g.remove(req.Context(), found.ID); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": ref.id(), "object": "response", "deleted": true})
	return nil
}
