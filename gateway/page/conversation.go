package page

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// window is the number of messages on a page.
const window = 100

type conversationPage struct {
	ID, Path, Agent, Task, Parent, WebUI string
	Status                               status
	Blocks                               []block
	Waits                                []wait
	Queue                                []string
	Tree                                 []*node
	// Earlier and Later are the paths of other pages of the conversation; empty if there are none.
	Earlier, Later string
	// After is the position of the last event of the page, for the events that follow it. Live reports whether they may come.
	After     string
	Live      bool
	MessageID string
	MayTalk   bool
}

// node is an agent in the tree of sub-agents.
type node struct {
	Path, Name, Task, Status string
	Below                    []*node
}

func newToken() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails
	return hex.EncodeToString(random)
}

func (h *handler) conversation(w http.ResponseWriter, r *http.Request) error {
	c, id := h.caller(r), r.PathValue("id")
	snap, err := h.find(r.Context(), c, id, scopeRead)
	if err != nil {
		return err
	}
	end := snap.Count
	if text := r.FormValue("before"); text != "" {
		if end, err = strconv.Atoi(text); err != nil || end < 1 {
			return badForm("The address of the page is not valid.")
		}
		end = min(end, snap.Count)
	}
	messages, first, err := h.messages(r.Context(), id, snap, end)
	if err != nil {
		return err
	}
	p := conversationPage{
		ID: printable.Name(id), Path: conversationPath(id), Agent: printable.Name(snap.Agent), Task: printable.Line(snap.Task, 200), WebUI: h.link(id),
		Status: statusOf(snap), MessageID: "page-" + newToken(), MayTalk: c.may(scopeTalk, snap.Agent), Tree: h.tree(r.Context(), id, snap.ChildCount),
	}
	if p.Task == "" {
		p.Task = p.ID
	}
	if parent := parentOf(id); parent != "" {
		p.Parent = conversationPath(parent)
	}
	newest := first+len(messages) == snap.Count
	if first > 0 {
		p.Earlier = fmt.Sprintf("%s?before=%d", p.Path, first)
	}
	writer := h.writer(c, id, snap)
	if !newest {
		p.Later = p.Path
		p.Blocks = writer.blocks(conversation.Of(first, messages, nil))
		h.render(w, r, http.StatusOK, "conversation", p.Task, p)
		return nil
	}
	events := conversation.Of(first, messages, snap.Pending)
	p.Blocks = writer.blocks(events)
	writer.open(p.Blocks, snap.Pending)
	last := before(first)
	for _, e := range events {
		last.advance(e)
	}
	p.After, p.Live = last.String(), !snap.Status.Ended()
	for _, m := range snap.Queue {
		p.Queue = append(p.Queue, printable.Line(m.Text, 300))
	}
	p.Waits = writer.texts(snap.Pending)
	if slices.ContainsFunc(snap.Children, func(c client.Child) bool { return c.Status == client.Running }) {
		p.Waits = append(p.Waits, h.below(r.Context(), c, id)...)
	}
	h.render(w, r, http.StatusOK, "conversation", p.Task, p)
	return nil
}

func (h *handler) writer(c Caller, id string, snap client.Snapshot) *writer {
	w := &writer{id: id, definition: snap.Definition, approves: c.may(scopeApprove, snap.Agent)}
	if c.may(scopeTalk, snap.Agent) {
		w.token = newToken()
	}
	return w
}

// messages returns up to [window] messages before the given one, a few more if calls would be cut from their results, and the index of the
// first. It does not end between a call and its result.
func (h *handler) messages(ctx context.Context, id string, snap client.Snapshot, before int) ([]agent.Message, int, error) {
	all, offset := snap.Messages, snap.First
	if before-window < offset && offset > 0 {
		earlier, err := h.agents.Earlier(ctx, id, offset)
		switch {
		case errors.Is(err, client.ErrNotFound): // Temporal has deleted it
			before = max(before, offset)
		case err != nil:
			return nil, 0, err
		default:
			all, offset = slices.Concat(earlier, all), 0
		}
	}
	end := min(max(before-offset, 0), len(all))
	for end < len(all) && end > 0 && all[end].Role == llm.Tool {
		end--
	}
	begin := max(end-window, 0)
	for begin > 0 && all[begin].Role == llm.Tool {
		begin--
	}
	return all[begin:end], offset + begin, nil
}

// open sets the state of the open calls in the blocks.
func (w *writer) open(blocks []block, open []agent.Call) {
	for i := range open {
		c := &open[i]
		id := callElement(c.Model, c.Position)
		for _, b := range slices.Backward(blocks) {
			if at := slices.IndexFunc(b.Calls, func(v call) bool { return v.ID == id && !v.Done }); at >= 0 {
				b.Calls[at] = w.openCall(c)
				break
			}
		}
	}
}

func (w *writer) openCall(c *agent.Call) call {
	return w.call(conversation.Call{Reply: c.Model, Index: c.Position, ID: c.CallID, Name: c.Name, Arguments: c.Arguments}, nil, c)
}

// texts returns the texts about which guardrails ask. They belong to no call of a reply.
func (w *writer) texts(open []agent.Call) (all []wait) {
	for i := range open {
		if _, ok := open[i].AskedText(); ok {
			v := waitOf(client.Waits{AgentID: w.id, Call: open[i]})
			v.May = w.approves
			all = append(all, v)
		}
	}
	return all
}

// below returns the calls of sub-agents that wait for somebody outside. Errors leave out some: the inbox has them, too.
func (h *handler) below(ctx context.Context, c Caller, id string) (all []wait) {
	waiting, err := h.agents.Pending(ctx, id)
	if err != nil {
		h.Log.WarnContext(ctx, "The page cannot read what sub-agents wait for.", "agent", id, "problem", err.Error())
	}
	for _, each := range waiting {
		if each.AgentID != id {
			v := waitOf(each)
			v.Back, v.May = id, c.may(scopeApprove, each.Agent)
			all = append(all, v)
		}
	}
	return all
}

// tree returns the sub-agents below an agent. Errors leave out some.
func (h *handler) tree(ctx context.Context, id string, children int) []*node {
	if children == 0 {
		return nil
	}
	entries, err := h.agents.Tree(ctx, id)
	if err != nil {
		h.Log.WarnContext(ctx, "The page cannot read the tree of sub-agents.", "agent", id, "problem", err.Error())
		return nil
	}
	root := &node{}
	nodes := map[string]*node{id: root}
	for _, e := range entries {
		parent := nodes[e.Parent]
		if e.ID == id || parent == nil {
			continue
		}
		n := &node{Path: conversationPath(e.ID), Name: printable.Name(strings.TrimPrefix(e.ID, e.Parent+"/")), Task: printable.Line(e.Task, 100), Status: string(e.Status)}
		nodes[e.ID], parent.Below = n, append(parent.Below, n)
	}
	return root.Below
}

// text returns the whole text of a message, which the page may have cut.
func (h *handler) text(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	snap, err := h.find(r.Context(), h.caller(r), id, scopeRead)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 0 || number >= snap.Count {
		return errNotFound
	}
	messages, offset := snap.Messages, snap.First
	if number < offset {
		if messages, err = h.agents.Earlier(r.Context(), id, number+1); err != nil {
			return err
		}
		offset = 0
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(printable.Text(messages[number-offset].Content))) //nolint:gosec // a browser takes it for plain text and nothing else
	return nil
}
