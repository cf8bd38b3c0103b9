package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// block is a part of a conversation on the page. Each has an ID, so that a newer form of it takes the place of the older one, and one that
// comes twice is there once.
type block struct {
	// ID is the ID of the HTML element.
	ID string
	// Kind is the name of the template.
	Kind string
	// Path is the path of the conversation, such as /c/chat-1, and Index the index of the message in it.
	Path  string
	Index int
	// From says who speaks, and Time when.
	From string
	Time time.Time
	// HTML is a text as Markdown, Plain one without. Raw is the text that a person edits for a fork.
	HTML             template.HTML
	Plain, Reasoning string
	Raw              string
	Images           []image
	Calls            []call
	// Notes are what else there is to say, such as what the turn has used.
	Notes []string
	// Fork is the number of messages that a fork after this block keeps; 0 if there is no such fork. Edit reports whether the message can be
	// edited in a fork.
	Fork  int
	Edit  bool
	Token string
}

// image is one that a person has sent.
type image struct {
	// Data is set for an image that is a part of the message, and Link for one elsewhere, which is not loaded.
	Data template.URL
	Link string
}

// writer makes blocks of the events of an agent.
type writer struct {
	// id is the ID of the agent, and definition its definition; nil if it is not known.
	id         string
	definition *agent.Definition
	// token makes the IDs of forks: see [forkID]. It is empty for a reader who may not fork.
	token string
	// approves reports whether the reader may decide on calls.
	approves bool
}

func conversationPath(id string) string { return "/c/" + url.PathEscape(id) }

// blocks returns the blocks of the events. A call stands in the block of its reply, with its result.
func (w *writer) blocks(events []conversation.Event) []block {
	var all []block
	at := map[string]int{} // the place of a reply in `all`
	for _, e := range events {
		if e.Kind == conversation.Result {
			if i, ok := at[string(e.Call.Reply)]; ok && e.Call.Index < len(all[i].Calls) {
				all[i].Calls[e.Call.Index] = w.result(e)
			}
			continue
		}
		if b, ok := w.block(e); ok {
			if e.Kind == conversation.Reply {
				at[string(e.Reply)] = len(all)
			}
			all = append(all, b)
		}
	}
	return all
}

// block returns the block that an event begins. The second result is false for an event that begins none.
func (w *writer) block(e conversation.Event) (block, bool) {
	if e.Message == nil || e.Kind == conversation.Result {
		return block{}, false
	}
	m := e.Message
	b := block{ID: fmt.Sprintf("m-%d", e.Position.Message), Path: conversationPath(w.id), Index: e.Position.Message}
	if m.Time > 0 {
		b.Time = time.UnixMilli(m.Time).UTC()
	}
	switch e.Kind {
	case conversation.Message:
		b.Kind, b.From, b.Plain = "user", "User", cut(m.Content)
		if m.Sender != nil && m.Sender.By != "" {
			b.From = printable.Name(m.Sender.By)
		}
		b.Images = images(m.Parts)
		if m.Steer {
			b.Notes = append(b.Notes, "sent while the agent worked")
		}
		if w.token != "" {
			b.Fork, b.Edit, b.Token, b.Raw = b.Index+1, true, w.token, printable.Text(m.Content)
		}
	case conversation.Reply, conversation.Answer:
		b.Kind, b.From, b.HTML, b.Reasoning = "reply", "Agent", markdown(m.Content), cut(m.Reasoning)
		if m.Notice {
			b.Kind, b.From = "notice", "Notice"
		}
		for i, c := range m.ToolCalls {
			b.Calls = append(b.Calls, w.call(conversation.Call{Reply: m.Key, Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}, nil, nil))
		}
		if e.Kind == conversation.Answer {
			b.Notes = append(b.Notes, usage(m)...)
			if w.token != "" {
				b.Fork, b.Token = b.Index+1, w.token
			}
		}
	case conversation.LateResult:
		b.Kind, b.From, b.Plain = "notice", "Late result", cut(m.Content)
	case conversation.Correction:
		b.Kind, b.From, b.Plain = "notice", "Correction", cut(m.Content)
	}
	for _, v := range m.Verdicts {
		b.Notes = append(b.Notes, verdict(v))
	}
	return b, true
}

// usage says which model has written an answer, and what the turn has used.
func usage(m *agent.Message) (notes []string) {
	if m.Model != "" {
		notes = append(notes, printable.Name(m.Model))
	}
	if s := m.Spent; s.InputTokens+s.OutputTokens > 0 {
		notes = append(notes, spending(s))
	}
	if m.FinishReason != "" {
		notes = append(notes, "may not be whole: finish reason "+printable.Name(m.FinishReason))
	}
	return notes
}

func spending(s agent.Spending) string {
	text := fmt.Sprintf("%d tokens in, %d out", s.InputTokens, s.OutputTokens)
	if s.Cost != 0 {
		text += ", " + s.Cost.String()
	}
	return text
}

func verdict(v agent.GivenVerdict) string {
	text := "guardrail " + printable.Name(v.Guardrail) + ": " + printable.Name(string(v.Action))
	if v.Reason != "" {
		text += ", " + printable.Line(v.Reason, 300)
	}
	if v.Decider != nil {
		text += ", by " + printable.Name(v.Decider.By)
	}
	return text
}

// maxShown is how much of a text the page shows, in bytes. The rest is behind a link.
const maxShown = 20_000

// cut returns a text of unknown origin, shortened.
func cut(text string) string {
	if len(text) > maxShown {
		return printable.Text(clip.Prefix(text, maxShown)) + fmt.Sprintf("\n… %s more", plural.Of(len(text)-maxShown, "byte"))
	}
	return printable.Text(text)
}

// images returns the images of a message. One elsewhere is a link. An SVG image may contain scripts, and is not
// shown.
func images(parts []llm.Part) (all []image) {
	for _, p := range parts {
		kind, _, _ := strings.Cut(p.URL, ";base64,")
		switch {
		case kind == "data:image/png" || kind == "data:image/jpeg" || kind == "data:image/gif" || kind == "data:image/webp":
			all = append(all, image{Data: template.URL(p.URL)}) //nolint:gosec // a browser takes it for an image and nothing else
		case strings.HasPrefix(p.URL, "https://") || strings.HasPrefix(p.URL, "http://"):
			all = append(all, image{Link: p.URL})
		case p.URL != "":
			all = append(all, image{})
		}
	}
	return all
}
