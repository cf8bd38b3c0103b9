package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/gateway/access"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// sendLimit limits how long a form waits for an agent.
const sendLimit = 45 * time.Second

// plainToken matches the tokens that [newToken] makes.
var plainToken = regexp.MustCompile(`^[0-9a-f]{32}$`)

// via is the program in [agent.Actor].From.
const via = "gateway page"

// start starts a conversation. The token of the form makes its ID, so a form that is sent twice starts one.
func (h *handler) start(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	c, name, token := h.caller(r), r.PostFormValue("agent"), r.PostFormValue("token")
	text := lines(r.PostFormValue("text"))
	switch {
	case !plainToken.MatchString(token):
		return badForm("The form is not valid.")
	case !c.may(scopeTalk, name):
		return &problem{http.StatusForbidden, "You may not talk with this agent.", "Choose another agent, or ask the operator for the permission."}
	case strings.TrimSpace(text) == "":
		return &problem{http.StatusBadRequest, "The message is empty.", "Go back and write one."}
	}
	known := false
	for _, a := range h.Agents {
		known = known || a.Name == name
	}
	if !known {
		return &problem{http.StatusBadRequest, "There is no such agent.", "Go back and choose another one."}
	}
	o := client.StartOptions{
		ID: name + "-" + token[:16], Agent: name, Mode: agent.Chat, Message: text, MessageID: "page-" + token, By: c.Name, PartialText: true,
		Metadata: owned(c),
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendLimit)
	defer cancel()
	if _, err := h.agents.Start(ctx, o); err != nil {
		return err
	}
	return done(w, r, conversationPath(o.ID)) // if the agent was there already, the page shows it only to its owner
}

// owned returns the metadata of a conversation that the caller starts.
func owned(c Caller) agent.Metadata {
	if c.Name == "" {
		return nil
	}
	return agent.Metadata{access.OwnerKey: c.Name}
}

// message sends a message. An agent that has failed or was stopped goes on with it.
func (h *handler) message(w http.ResponseWriter, r *http.Request) error {
	c, id, snap, err := h.form(r, scopeTalk)
	if err != nil {
		return err
	}
	m := client.Message{
		ID: r.PostFormValue("message_id"), Text: lines(r.PostFormValue("text")), Steer: r.PostFormValue("steer") != "", By: c.Name, PartialText: true,
		Automatic: !c.may(scopeApprove, snap.Agent), // else a message may answer a question
	}
	if strings.TrimSpace(m.Text) == "" {
		return &problem{http.StatusBadRequest, "The message is empty.", "Go back and write one."}
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendLimit)
	defer cancel()
	sent, err := h.agents.SendOrStart(ctx, id, m, client.StartOptions{Agent: snap.Agent, Metadata: snap.Metadata})
	switch {
	case err != nil:
		return err
	case sent.Differs:
		return &problem{http.StatusConflict, "This form has sent another message before.", "Reload the page, and send the message again."}
	}
	if sent.Answered != "" || sent.Duplicate {
		return done(w, r, conversationPath(id))
	}
	return answer(w, r, conversationPath(id), printable.Line(m.Text, 300))
}

// decide settles a call: it approves or denies it, or gives it an answer or a result. The key names the call with the arguments that the
// person has seen.
func (h *handler) decide(w http.ResponseWriter, r *http.Request) error {
	c, id, _, err := h.form(r, scopeApprove)
	if err != nil {
		return err
	}
	d := agent.Decision{Actor: agent.Actor{By: c.Name}}
	if c.Name != "" {
		d.From = via
	}
	text := lines(r.PostFormValue("text"))
	if choice := r.PostFormValue("choice"); strings.TrimSpace(text) == "" && choice != "" {
		text = choice
	}
	switch action := r.PostFormValue("action"); action {
	case "approve":
		d.Approve = true
		if r.PostFormValue("remember") != "" {
			d.Remember = agent.RememberTool
		}
	case "deny":
		d.Reason = lines(r.PostFormValue("reason"))
	case string(agent.WaitsForAnswer), string(agent.WaitsForResult):
		if action == string(agent.WaitsForAnswer) && strings.TrimSpace(text) == "" {
			return &problem{http.StatusBadRequest, "The answer is empty.", "Go back and write one."}
		}
		d.Result = &agent.GivenResult{Content: text, IsError: r.PostFormValue("failed") != ""}
	default:
		return badForm("The form says neither how to decide nor what to answer.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendLimit)
	defer cancel()
	if err := h.agents.Decide(ctx, client.Waits{AgentID: id, Call: agent.Call{Key: agent.Key(r.PostFormValue("key"))}}, d); err != nil {
		return err
	}
	back := "/inbox"
	if to := r.PostFormValue("back"); to != "" {
		back = conversationPath(to)
	}
	return done(w, r, back)
}

func (h *handler) interrupt(w http.ResponseWriter, r *http.Request) error {
	c, id, _, err := h.form(r, scopeTalk)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendLimit)
	defer cancel()
	if err := h.agents.InterruptBy(ctx, id, c.Name); err != nil {
		return err
	}
	return done(w, r, conversationPath(id))
}

// fork starts a new conversation with the first messages of another one, and with an edited message if there is one.
func (h *handler) fork(w http.ResponseWriter, r *http.Request) error {
	c, id, snap, err := h.form(r, scopeTalk)
	if err != nil {
		return err
	}
	edit, text, token := r.PostFormValue("edit") != "", lines(r.PostFormValue("text")), r.PostFormValue("token")
	at, err := strconv.Atoi(r.PostFormValue("at"))
	switch {
	case err != nil || at < 0 || at > snap.Count || at == 0 && !edit || !plainToken.MatchString(token):
		return badForm("The form is not valid.")
	case edit && strings.TrimSpace(text) == "":
		return &problem{http.StatusBadRequest, "The message is empty.", "Go back and write one."}
	case !edit:
		text = ""
	}
	fork := snap.Agent + "-" + forkID(token, at, text)
	ctx, cancel := context.WithTimeout(r.Context(), sendLimit)
	defer cancel()
	if at == 0 { // a fork without messages is a new conversation
		_, err = h.agents.Start(ctx, client.StartOptions{
			ID: fork, Agent: snap.Agent, Mode: agent.Chat, Message: text, MessageID: "page-" + token, By: c.Name, PartialText: true, Metadata: snap.Metadata,
		})
	} else {
		_, err = h.agents.Fork(ctx, id, client.ForkOptions{At: at, ID: fork, Message: text, By: c.Name, PartialText: true, Mode: agent.Chat})
	}
	if err != nil {
		return err
	}
	return done(w, r, conversationPath(fork))
}

// forkID makes the end of the ID of a fork from the token of the page, so that a form that is sent twice makes one fork, and an edited one
// another.
func forkID(token string, at int, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", token, at, text))
	return hex.EncodeToString(sum[:8])
}

// form reads a form about a conversation, for a caller with the given scope.
func (h *handler) form(r *http.Request, scope string) (c Caller, id string, snap client.Snapshot, err error) {
	if err := r.ParseForm(); err != nil {
		return c, "", snap, err
	}
	c, id = h.caller(r), r.PathValue("id")
	snap, err = h.find(r.Context(), c, id, scope)
	return c, id, snap, err
}

// lines returns the text of a form with line feeds alone. Browsers send carriage returns, too.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func done(w http.ResponseWriter, r *http.Request, to string) error { return answer(w, r, to, "") }

// answer answers a form: the script gets the ID of the next message, and the beginning of a message that is now in the queue of the agent. A
// browser without the script is led to a page.
func answer(w http.ResponseWriter, r *http.Request, to, queued string) error {
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(map[string]string{"message_id": "page-" + newToken(), "queued": queued})
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // it is a path of this page: see conversationPath
	return nil
}
