package page

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/reagent-dev/reagent/gateway/access"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// pageRows is the number of conversations on a page, and maxScanned that of the agents that are looked at for it. Temporal cannot select
	// by the owner.
	pageRows, maxScanned = 30, 2000
	// maxInbox is the number of waiting calls that the inbox shows.
	maxInbox = 100
)

type listPage struct {
	Agents  []Agent
	Token   string
	Entries []row
	// Next is the path of the page with older conversations; empty if there is none.
	Next string
}

// row is a conversation in the list.
type row struct {
	Path, ID, Agent, Task, Status, Owner string
	Started                              time.Time
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) error {
	c := h.caller(r)
	p := listPage{Token: newToken()}
	for _, a := range h.Agents {
		if c.may(scopeTalk, a.Name) {
			p.Agents = append(p.Agents, a)
		}
	}
	after, err := cursor(r.FormValue("after"))
	if err != nil {
		return err
	}
	scanned := 0
	var last client.Entry
	for e, err := range h.agents.List(r.Context(), client.ListOptions{After: after}) {
		if err != nil {
			return err
		}
		if len(p.Entries) == pageRows || scanned == maxScanned {
			p.Next = "/?after=" + cursorOf(last)
			break
		}
		scanned++
		last = e
		if owner := e.Metadata[access.OwnerKey]; e.Parent == "" && c.owns(owner) && c.may(scopeRead, e.Agent) {
			p.Entries = append(p.Entries, rowOf(e, c))
		}
	}
	h.render(w, r, http.StatusOK, "list", "Conversations", p)
	return nil
}

func rowOf(e client.Entry, c Caller) row {
	v := row{
		Path: conversationPath(e.ID), ID: printable.Name(e.ID), Agent: printable.Name(e.Agent), Task: printable.Line(e.Task, 200), Status: string(e.Status),
		Started: e.Started.UTC(),
	}
	if v.Task == "" {
		v.Task = v.ID
	}
	if e.Status == client.Running {
		v.Status = "open" // the list does not say whether it works or waits
	}
	if owner := e.Metadata[access.OwnerKey]; owner != c.Name {
		v.Owner = printable.Name(owner)
	}
	return v
}

// cursorOf returns the place of an entry in the list, and cursor the place as an entry: its times.
func cursorOf(e client.Entry) string {
	if !e.Ended.IsZero() {
		return "e" + strconv.FormatInt(e.Ended.UnixNano(), 10)
	}
	return "s" + strconv.FormatInt(e.Started.UnixNano(), 10)
}

func cursor(text string) (e client.Entry, err error) {
	if text == "" {
		return e, nil
	}
	n, err := strconv.ParseInt(text[1:], 10, 64)
	switch at := time.Unix(0, n); {
	case err != nil:
	case text[0] == 'e':
		e.Ended = at
		return e, nil
	case text[0] == 's':
		e.Started = at
		return e, nil
	}
	return e, badForm("The address of the page is not valid.")
}

type inboxPage struct {
	Waits []wait
	// Left is the number of calls that are not shown.
	Left    int
	Problem string
}

func (h *handler) inbox(w http.ResponseWriter, r *http.Request) error {
	c := h.caller(r)
	waiting, err := h.agents.Inbox(r.Context())
	p := inboxPage{}
	if unreadable, ok := errors.AsType[*client.UnreadableAgentsError](err); ok {
		if c.SeesAll {
			p.Problem = printable.Line(unreadable.Error(), 500)
		}
	} else if err != nil {
		return err
	}
	seen := map[string]bool{} // by the ID of the agent
	for _, each := range waiting {
		sees, known := seen[each.AgentID]
		if !known {
			sees = h.sees(r, c, each)
			seen[each.AgentID] = sees
		}
		switch {
		case !sees:
		case len(p.Waits) == maxInbox:
			p.Left++
		default:
			v := waitOf(each)
			v.Back, v.May = "", c.may(scopeApprove, each.Agent)
			p.Waits = append(p.Waits, v)
		}
	}
	h.render(w, r, http.StatusOK, "inbox", "Inbox", p)
	return nil
}

// sees reports whether the caller sees the agent of a waiting call.
func (h *handler) sees(r *http.Request, c Caller, w client.Waits) bool {
	if c.SeesAll {
		return c.may(scopeRead, w.Agent)
	}
	_, err := h.find(r.Context(), c, w.AgentID, scopeRead)
	return err == nil
}

// childID matches the IDs of sub-agents: see [agent.ChildID].
var childID = regexp.MustCompile(`^(.+)/[^/]+-[0-9a-f]{16}$`)

// parentOf returns the ID of the agent that has started a sub-agent, by the ID of the sub-agent; empty if the ID is not that of one.
func parentOf(id string) string {
	if m := childID.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return ""
}
