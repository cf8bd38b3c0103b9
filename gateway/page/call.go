package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
)

// call is a call on the page. It is folded, unless it waits for a person.
type call struct {
	ID, Name, Summary string
	Form              []formLine
	// State says how far the call has come, in a word. Done, Failed and Waits say it to the style sheet.
	State               string
	Done, Failed, Waits bool
	Result, More        string
	Decided             string
	// Child is the path of the sub-agent of the call, and ChildName its name; empty if there is none.
	Child, ChildName string
	Wait             wait
}

// formLine is a line of the arguments.
type formLine struct{ Kind, Lead, Text string }

var lineKinds = map[proposal.Kind]string{
	proposal.Field: "field", proposal.Title: "title", proposal.Text: "text", proposal.Command: "command", proposal.Continued: "command",
	proposal.Kept: "kept", proposal.Removed: "removed", proposal.Added: "added", proposal.Folded: "folded",
}

func linesOf(f proposal.Form) (lines []formLine) {
	for _, l := range f {
		lines = append(lines, formLine{lineKinds[l.Kind], l.Lead, l.Text})
	}
	return lines
}

func callElement(reply agent.Key, index int) string {
	return "call-" + strings.ReplaceAll(conversation.Call{Reply: reply, Index: index}.String(), "/", "-")
}

// call returns a call with its result, or with its state while it is open. Both may be nil. The arguments of a call that waits for a decision
// are shown whole.
func (w *writer) call(c conversation.Call, result *agent.Message, open *agent.Call) call {
	arguments := c.Arguments
	if open != nil {
		arguments = open.Arguments // a person may have changed them
	}
	v := call{ID: callElement(c.Reply, c.Index), Name: printable.Name(c.Name), Summary: proposal.Summary(c.Name, arguments, 160), State: "running"}
	form := proposal.Of(c.Name, arguments)
	child := agent.Key("")
	v.Wait.ID = "wait-" + v.ID
	switch {
	case result != nil:
		form, _ = form.Cut(400, maxShown)
		v.Done, v.Failed, v.State = true, result.Result.IsError(), "done"
		if v.Failed {
			v.State = printable.Name(strings.ReplaceAll(string(result.Result), "_", " "))
		}
		v.Result, v.Decided, child = cut(result.Content), decided(result.Decider), result.Child
	case open != nil:
		v.Decided, child = decided(open.Decider), open.Child
		if open.Result != nil {
			v.State, v.Done, v.Failed = "done", true, open.Result.Kind.IsError()
			v.Result = cut(open.Result.Content)
		} else if open.Waits() {
			v.Waits, v.State = true, "waits for "+open.WaitsFor().Noun()
			v.Wait = waitOf(client.Waits{AgentID: w.id, Call: *open})
			v.Wait.ID, v.Wait.Inside, v.Wait.May = "wait-"+v.ID, true, w.approves
		}
	}
	v.Form = linesOf(form)
	if q, ok := (&agent.Call{Name: c.Name, Arguments: arguments}).Question(); ok {
		v.Summary = printable.Line(q.Question, 160)
		if v.Waits {
			v.Form = nil // the question is there
		}
	}
	if id := w.childID(c.Name, child); id != "" {
		v.Child, v.ChildName = conversationPath(id), printable.Name(id)
	}
	return v
}

// result returns the call of an event of the kind [conversation.Result].
func (w *writer) result(e conversation.Event) call {
	v := w.call(e.Call, e.Message, nil)
	if len(e.Message.Content) > maxShown {
		v.More = fmt.Sprintf("%s/text/%d", conversationPath(w.id), e.Position.Message)
	}
	return v
}

// childID returns the ID of the sub-agent with the given key that works for calls of the given name; empty if it is not known.
func (w *writer) childID(name string, key agent.Key) string {
	if w.definition == nil || key.Kind() != agent.KindChild || len(key) < len(agent.KindChild)+17 {
		return ""
	}
	tool, ok := w.definition.Tool(name)
	if !ok || tool.Agent == "" {
		return ""
	}
	return agent.ChildID(w.id, tool.Agent, key)
}

// decided says who has decided on a call; empty if nobody has.
func decided(d *agent.Decider) string {
	if d == nil {
		return ""
	}
	text := "Decided"
	if d.Denied {
		text = "Denied"
	}
	if d.By != "" {
		text += " by " + printable.Name(d.By)
	}
	if d.Time > 0 {
		text += " at " + time.UnixMilli(d.Time).UTC().Format("2006-01-02 15:04 UTC")
	}
	if d.Remembered {
		text += ", on an earlier call"
	}
	return text + "."
}
