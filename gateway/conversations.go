package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/gateway/access"
)

const (
	// partialTextTime is how long a reader of a stream asks for live text.
	partialTextTime = time.Hour
	// removeTime is how long a request waits for the end of an agent that is deleted.
	removeTime = 20 * time.Second
)

// conversationObject is a conversation of OpenAI's API.
type conversationObject struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

// A conversation has no agent before its first response. Until then, only its ID exists. It has the time at which it was made, and a hash
// that names its owner.
const conversationAgent = agentPrefix + "conv-"

func newConversationAgent(ctx context.Context, now time.Time) string {
	made := strconv.FormatInt(now.Unix(), 36) + "-" + hashed(uuid.NewString())
	return conversationAgent + made + "-" + hashed("owner", access.FromContext(ctx).Name, made)
}

// owns reports whether the caller has made the ID of a conversation.
func owns(ctx context.Context, agentID string) bool {
	made, owner, ok := cutLast(strings.TrimPrefix(agentID, conversationAgent))
	return ok && strings.HasPrefix(agentID, conversationAgent) && owner == hashed("owner", access.FromContext(ctx).Name, made)
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func madeAt(agentID string) int64 {
	text, _, _ := strings.Cut(strings.TrimPrefix(agentID, conversationAgent), "-")
	at, _ := strconv.ParseInt(text, 36, 64)
	return at
}

func (g *Gateway) createConversation(w http.ResponseWriter, req *http.Request) error {
	var r struct {
		Items    []inputItem    `json:"items"`
		Metadata agent.Metadata `json:"metadata"`
	}
	if req.ContentLength != 0 {
		if err := readRequest(req, &r); err != nil {
			return err
		}
	}
	if len(r.Items) > 0 || len(r.Metadata) > 0 {
		return unsupported("items", "a conversation begins empty, because it has no agent yet; send items and metadata with its first response")
	}
	if refused := mayTalk(access.FromContext(req.Context()), g.agents()); refused != nil {
		return refused
	}
	id := newConversationAgent(req.Context(), time.Now())
	writeJSON(w, http.StatusOK, conversationObject{ID: conversationID(id), Object: "conversation", CreatedAt: madeAt(id), Metadata: map[string]string{}})
	return nil
}

func mayTalk(caller access.Caller, agents []Agent) error {
	for _, a := range agents {
		if caller.May(access.Talk, a.Name) {
			return nil
		}
	}
	return forbidden("you may not talk with any agent; ask the operator for the scope \"talk\"")
}

// conversationNamed returns the conversation that a request names. `begun` is false if it has no agent yet.
func (g *Gateway) conversationNamed(req *http.Request, scope access.Scope) (found client.Entry, begun bool, err error) {
	id := req.PathValue("id")
	gone := missing("the conversation", id)
	agentID, ok := parseConversationID(id)
	if !ok {
		return found, false, gone
	}
	found, err = g.conversationOf(req.Context(), scope, agentID, gone)
	if errors.Is(err, gone) && owns(req.Context(), agentID) {
		return client.Entry{ID: agentID, Started: time.Unix(madeAt(agentID), 0)}, false, nil
	}
	return found, true, err
}

func (g *Gateway) getConversation(w http.ResponseWriter, req *http.Request) error {
	found, _, err := g.conversationNamed(req, access.Read)
	if err != nil {
		return err
	}
	created := found.Started.Unix()
	if strings.HasPrefix(found.ID, conversationAgent) {
		created = madeAt(found.ID)
	}
	writeJSON(w, http.StatusOK, conversationObject{ID: conversationID(found.ID), Object: "conversation", CreatedAt: created, Metadata: publicMetadata(found.Metadata)})
	return nil
}

func (g *Gateway) deleteConversation(w http.ResponseWriter, req *http.Request) error {
	found, begun, err := g.conversationNamed(req, access.Talk)
	if err != nil {
		return err
	}
	if begun {
		if err := g.remove(req.Context(), found.ID); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": conversationID(found.ID), "object": "conversation.deleted", "deleted": true})
	return nil
}

// remove ends an agent and all agents below it, and deletes them.
func (g *Gateway) remove(ctx context.Context, id string) error {
	if _, err := g.client.Cancel(ctx, id); err != nil && !errors.Is(err, client.ErrClosed) {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, removeTime)
	defer stop()
	for {
		err := g.client.Remove(ctx, g.namespace, id)
		if !errors.Is(err, client.ErrRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return conflict("still_running", "the conversation is ending, and has not ended yet; delete it again in a moment")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// page is a page of a list.
type page struct {
	Object  string  `json:"object"`
	Data    []any   `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// identified is an item with its ID.
type identified struct {
	id   string
	item any
}

// pageOf returns the page of a list for which a request asks by limit, order and after.
func pageOf(req *http.Request, all []identified, newestFirst bool) (page, error) {
	query := req.URL.Query()
	limit := 20
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return page{}, invalid("limit", "limit must be a number from 1 to 100")
		}
		limit = n
	}
	switch order := query.Get("order"); order {
	case "asc":
		newestFirst = false
	case "desc":
		newestFirst = true
	case "":
	default:
		return page{}, invalid("order", "order must be asc or desc")
	}
	if newestFirst {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if after := query.Get("after"); after != "" {
		found := false
		for i, each := range all {
			if each.id == after {
				all, found = all[i+1:], true
				break
			}
		}
		if !found {
			return page{}, invalid("after", "the list has no item "+quoted(after))
		}
	}
	p := page{Object: "list", Data: []any{}, HasMore: len(all) > limit}
	for i, each := range all[:min(limit, len(all))] {
		if i == 0 {
			p.FirstID = &each.id
		}
		p.LastID = &each.id
		p.Data = append(p.Data, each.item)
	}
	return p, nil
}

// inputMessage is a message of a user as an item.
type inputMessage struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

func inputOf(m *agent.Message) identified {
	item := inputMessage{ID: "msg_in_" + hashed(string(m.Key)), Type: "message", Status: "completed", Role: "user", Content: []any{}}
	if m.Content != "" {
		item.Content = append(item.Content, map[string]string{"type": "input_text", "text": m.Content})
	}
	for _, p := range m.Parts {
		item.Content = append(item.Content, map[string]string{"type": "input_image", "image_url": p.URL, "detail": "auto"})
	}
	return identified{item.ID, item}
}

// items is a viewer that collects the items of a whole conversation.
type items struct {
	agent   string
	all     []identified
	section section
	p       *projection
}

func (i *items) read(e conversation.Event) {
	if i.p == nil {
		i.p = newProjection(responseRef{}, "", &i.section, nil)
		i.p.begin()
	}
	if i.section.read(e); !i.section.stops(e) { // waits belong to the section that they end
		i.p.ref = responseRef{Agent: i.agent, start: i.section.at}
	}
	if e.Kind == conversation.Message {
		i.all = append(i.all, inputOf(e.Message))
	}
	before := len(i.p.response.Output)
	i.p.see(e)
	for _, item := range i.p.response.Output[before:] {
		i.all = append(i.all, identified{idOf(item), item})
	}
}

func idOf(item any) string {
	switch item := item.(type) {
	case messageItem:
		return item.ID
	case mcpCallItem:
		return item.ID
	case approvalItem:
		return item.ID
	case functionCallItem:
		return item.ID
	}
	return ""
}

func (g *Gateway) conversationItems(w http.ResponseWriter, req *http.Request) error {
	found, begun, err := g.conversationNamed(req, access.Read)
	if err != nil {
		return err
	}
	list := items{agent: found.ID}
	if begun {
		for u, err := range g.client.Events(req.Context(), found.ID, 0) {
			if err != nil {
				return err
			}
			for _, e := range u.Events {
				list.read(e)
			}
			if u.Status != "" {
				break
			}
		}
	}
	p, err := pageOf(req, list.all, true)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

// inputItems lists what a response has got: its message, or the decisions and results with which it goes on.
func (g *Gateway) inputItems(w http.ResponseWriter, req *http.Request) error {
	ref, _, err := g.responseOf(req, access.Read)
	if err != nil {
		return err
	}
	s := &section{from: ref.start}
	if _, err := g.follow(req.Context(), ref.Agent, s, false, nil); err != nil {
		return g.orMissing(err, req)
	}
	var all []identified
	if ref.Message != "" && s.message != nil {
		all = append(all, inputOf(s.message))
	}
	p, err := pageOf(req, all, true)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}
