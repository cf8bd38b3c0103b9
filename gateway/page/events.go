package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// pingPause is the time between two comments that keep proxies from closing a quiet connection.
	pingPause = 15 * time.Second
	// lookPause is the time between two looks at the sub-agents of an agent, and lookLimit limits the time of one.
	lookPause, lookLimit = 5 * time.Second, 15 * time.Second
	// streamLife is the time after which a stream ends. The browser connects again at once, and proves again who reads.
	streamLife = 15 * time.Minute
	// writeLimit is the time in which a browser must take what was sent to it.
	writeLimit = 30 * time.Second
)

// events sends the events that follow those of the page, as fragments of HTML. Each event "block" has the position of its event as ID, so a
// browser that connects again goes on after it. All other events tell what is so now, and come again after a new connection.
func (h *handler) events(w http.ResponseWriter, r *http.Request) error {
	c, id := h.caller(r), r.PathValue("id")
	snap, err := h.find(r.Context(), c, id, scopeRead)
	if err != nil {
		return err
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.FormValue("after")
	}
	at, err := parsePosition(after)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that keeps text back would take the life out of it
	s := &stream{to: w, control: http.NewResponseController(w), at: at, writer: h.writer(c, id, snap), sent: map[string]string{}}
	if r.Method == http.MethodHead {
		return nil
	}
	s.write("retry: 1000\n\n")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	h.follow(ctx, c, s)
	return nil
}

// follow sends updates until the agent has ended, the reader is gone, or the events cannot be read.
func (h *handler) follow(ctx context.Context, c Caller, s *stream) {
	updates := h.updates(ctx, s.writer.id, s.at.base)
	ping, look := time.NewTicker(pingPause), time.NewTicker(lookPause)
	defer ping.Stop()
	defer look.Stop()
	life := time.NewTimer(streamLife)
	defer life.Stop()
	looks := make(chan looked, 1)
	looking := false
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-life.C:
			return
		case u := <-updates:
			switch {
			case errors.Is(u.err, conversation.ErrLostText): // it was a preview on this page
				updates = h.updates(ctx, s.writer.id, s.at.base)
			case errors.Is(u.err, client.ErrRewound):
				s.send("reload", "", nil)
				return
			case u.err != nil:
				h.Log.WarnContext(ctx, "The page cannot follow an agent.", "agent", s.writer.id, "problem", u.err.Error())
				s.send("end", "", map[string]string{"problem": "The conversation cannot be followed. Reload the page."})
				return
			default:
				if s.update(u.Update); u.Status.Ended() {
					s.send("end", "", map[string]string{})
					return
				}
			}
		case <-ping.C:
			s.comment("ping")
		case <-look.C:
			if !looking && s.hasSubAgents() {
				looking = true
				go func() { looks <- h.look(ctx, c, s.writer.id) }()
			}
		case l := <-looks:
			looking = false
			s.show(l)
		}
	}
}

// update is an item of [client.Client.Events].
type update struct {
	client.Update
	err error
}

// updates reads the events of an agent until the context ends, or an error occurs.
func (h *handler) updates(ctx context.Context, id string, from int) <-chan update {
	all := make(chan update)
	go func() {
		for u, err := range h.agents.Events(ctx, id, from) {
			select {
			case all <- update{u, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return all
}

// looked is what is known about the sub-agents of an agent.
type looked struct {
	tree  []*node
	waits []wait
}

func (h *handler) look(ctx context.Context, c Caller, id string) looked {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return looked{h.tree(ctx, id, 1), h.below(ctx, c, id)}
}

// stream writes server-sent events to one reader.
type stream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	err     error
	writer  *writer
	at      position
	// sent are the newest fragments that may change, by the ID of the element.
	sent map[string]string
	// live is what the reader has of the running model call.
	live live
	// own are the waits of the agent that stand in no call, and below those of its sub-agents.
	own, below []wait
	// children is the number of sub-agents. busy reports whether something may change about them.
	children int
	busy     bool
}

func (s *stream) comment(text string) { s.write(": " + text + "\n\n") }

// send writes an event. An ID becomes the position from which the reader goes on.
func (s *stream) send(event, id string, data any) {
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\n", event)
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	encoded, err := json.Marshal(data) // on one line
	if err != nil {
		s.err = err
		return
	}
	fmt.Fprintf(&b, "data: %s\n\n", encoded)
	s.write(b.String())
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has none
	if _, s.err = s.to.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}

// place sends a fragment, which the script puts in place of the element with its ID, or else at the end of the element `in`.
func (s *stream) place(name, id, in string, data any, at string) {
	html, err := fragment(name, data)
	if err != nil {
		s.err = err
		return
	}
	if at == "" && s.sent[id] == html {
		return
	}
	s.sent[id] = html
	s.send("block", at, map[string]string{"id": id, "in": in, "html": html})
}

func (s *stream) update(u client.Update) {
	if u.Snapshot != nil {
		s.children = u.Snapshot.ChildCount
		if u.Snapshot.Definition != nil {
			s.writer.definition = u.Snapshot.Definition
		}
	}
	for _, e := range u.Events {
		if e.Kind == conversation.Text || !s.at.advance(e) { // the text comes with the reply
			continue
		}
		if e.Kind == conversation.Result {
			v := s.writer.result(e)
			s.place("call", v.ID, "", v, s.at.String())
		} else if b, ok := s.writer.block(e); ok {
			s.hear(nil)
			s.place("block", b.ID, "log", b, s.at.String())
		}
	}
	if u.Status == "" {
		return
	}
	s.hear(u.PartialText)
	for i := range u.Open {
		if c := &u.Open[i]; c.Model != "" {
			v := s.writer.openCall(c)
			s.place("call", v.ID, "", v, "")
		}
	}
	s.own = s.writer.texts(u.Open)
	s.waits()
	s.place("status", "status-line", "", progressStatus(u.Progress), "")
	s.busy = s.busy || u.Status == client.Running || u.WaitsFor == client.WaitsForSubAgents
}

// hasSubAgents reports whether it is worth while to look at the sub-agents.
func (s *stream) hasSubAgents() bool { return s.children > 0 && s.busy }

// show sends what is known about the sub-agents.
func (s *stream) show(l looked) {
	s.place("tree", "tree", "", l.tree, "")
	s.below = l.waits
	s.waits()
	s.busy = anyRuns(l.tree) || len(l.waits) > 0 // a running agent says so again
}

func anyRuns(nodes []*node) bool {
	return slices.ContainsFunc(nodes, func(n *node) bool { return n.Status == string(client.Running) || anyRuns(n.Below) })
}

// waits sends the waits that stand in no call of the page, and the list of them, so that others are taken away.
func (s *stream) waits() {
	ids := []string{}
	for _, w := range slices.Concat(s.own, s.below) {
		s.place("wait", w.ID, "waits", w, "")
		ids = append(ids, w.ID)
	}
	list := strings.Join(ids, " ")
	if old, ok := s.sent["waits"]; ok && old == list || s.children > 0 && !ok && s.below == nil && list == "" {
		return // the page may have waits of sub-agents, at which nobody has looked since
	}
	s.sent["waits"] = list
	s.send("waits", "", map[string][]string{"ids": ids})
}

// live is a part of the text of a running model call.
type live struct {
	of      string
	attempt int
	shown   int // in bytes
}

// hear sends what is new in the text of the running model call. Nil means that there is none.
func (s *stream) hear(p *client.PartialText) {
	if p == nil {
		if s.live.of != "" {
			s.live = live{}
			s.send("live", "", map[string]any{"reset": true, "text": ""})
		}
		return
	}
	begin := p.Said - len(p.Text)
	reset := string(p.Key) != s.live.of || p.Attempt != s.live.attempt || begin > s.live.shown || p.Said < s.live.shown
	text := p.Text
	switch {
	case !reset:
		text = text[s.live.shown-max(begin, 0):]
	case begin > 0:
		text = "… " + text
	}
	s.live = live{string(p.Key), p.Attempt, p.Said}
	if text != "" {
		s.send("live", "", map[string]any{"reset": reset, "text": printable.Text(text)})
	}
}
