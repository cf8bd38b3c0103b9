package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
)

// offer is a call that waits for an approval, as the person sees it.
type offer struct {
	memo         // the lines of its arguments
	heading memo // the lines of the question above them
	// ends has the position behind each of these lines, counted from the first character of the arguments.
	ends []int
	// of are the arguments of which title, folded and full have been seen: the question above the arguments, the arguments with parts left
	// out, and all of them. Folded and full are the same up to the position common.
	of                  string
	title, folded, full sight
	common              int
	// foldedSize and fullSize are the positions at the end; 0 means that this form was never on the screen.
	foldedSize, fullSize int
	// left says how much the folded form leaves out, such as "12 lines with 345 characters"; empty if it leaves out nothing.
	left string
}

func (m *model) offerOf(call agent.Call) *offer {
	o := m.offers[call.Key]
	if o == nil || o.of != call.Arguments {
		o = &offer{of: call.Arguments}
		m.offers[call.Key] = o
	}
	return o
}

// proposal returns the arguments of a call that waits for an approval. Unless the calls are expanded, long arguments are cut, and a line says
// how much is left out.
func (m *model) proposal(call agent.Call) []string {
	o := m.offerOf(call)
	return o.lines(fmt.Sprint(m.expanded), m.width, func() []string {
		full, left := proposal.Of(call.Name, call.Arguments), ""
		f := full
		if !m.expanded {
			f, left = full.Short(": Ctrl-O shows them")
			o.common, o.left = common(f, full), left
		}
		lines := screen.Form(f, argumentsIndent, m.width)
		if left != "" {
			lines = append(lines, styled(indented("  ", "… "+left+" are left out here, and a decision is about all of them: Ctrl-O shows them", m.width), urgent)...)
		}
		if o.ends = endsOf(lines, 0); m.expanded {
			o.fullSize = o.ends[len(lines)-1]
		} else {
			o.foldedSize = o.ends[len(lines)-1]
		}
		return lines
	})
}

// common returns the position up to which two forms have the same lines.
func common(a, b proposal.Form) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		n += characters(a[i].Lead) + characters(a[i].Text)
	}
	return n
}

// title returns the question above the arguments, without the mark before it. whole has the name of the call, too, if several calls wait.
func (m *model) title(w *client.Waits) (text, whole string) {
	who := ""
	if w.AgentID != m.id {
		who = " of sub-agent " + printable.Name(w.AgentID)
	}
	text = mayText(w.Call, who)
	if len(approvals(m.waits)) > 1 { // a command must name one of them
		return text, text + " (call " + w.Handle() + ")"
	}
	return text, text
}

// look notes which lines of the calls that wait for an approval are on the screen. It runs after each event, before [model.View] draws what
// it has noted.
func (m *model) look() {
	below := 0
	for _, w := range slices.Backward(m.waits) {
		lines := m.wait(&w, false)
		n := len(lines)
		first, last := max(0, n-(m.up+m.room()-below)), min(n, n-(m.up-below))
		below += n
		if first >= last || w.Call.WaitsFor() != client.WaitsForApproval || m.deciding(w) != nil {
			continue
		}
		o := m.offerOf(w.Call)
		titles := n - len(o.ends)
		titleEnds := endsOf(lines[:titles], 0)
		o.title.see(part(titleEnds, first, min(last, titles)))
		arguments := part(o.ends, first-titles, last-titles)
		if m.expanded {
			o.full.see(arguments)
			continue
		}
		o.folded.see(arguments)
		o.full.see(span{arguments.from, min(arguments.to, o.common)})
	}
}

// part returns the part of a text on the lines from `first` to before `last`, of those that there are.
func part(ends []int, first, last int) span {
	first, last = max(0, first), min(len(ends), last)
	if first >= last {
		return span{}
	}
	p := span{to: ends[last-1]}
	if first > 0 {
		p.from = ends[first-1]
	}
	return p
}

// whole reports whether all lines of a call have been on the screen, up to the last one, or up to the one that says how much is left out.
func (m *model) whole(w client.Waits) bool {
	o := m.offerOf(w.Call)
	text, _ := m.title(&w)
	switch {
	case o.title.missing() < characters(text):
		return false
	case o.fullSize > 0 && o.full.missing() >= o.fullSize:
		return true
	}
	return !m.expanded && o.foldedSize > 0 && o.folded.missing() >= o.foldedSize
}

// unseenText says how much of a call has not been on the screen because it is left out, such as "12 lines"; empty if nothing is.
func (m *model) unseenText(w client.Waits) string {
	o := m.offerOf(w.Call)
	if o.fullSize > 0 && o.full.missing() >= o.fullSize {
		return ""
	}
	much, _, _ := strings.Cut(o.left, " with ")
	return much
}

// unseen returns the index of the first line of a call that has not been on the screen; the number of lines if there is none.
func (m *model) unseen(w client.Waits, lines []string) int {
	o := m.offerOf(w.Call)
	titles := len(lines) - len(o.ends)
	text, _ := m.title(&w)
	if at := o.title.missing(); at < characters(text) {
		return after(endsOf(lines[:titles], 0), at)
	}
	s := &o.folded
	if m.expanded {
		s = &o.full
	}
	return titles + after(o.ends, s.missing())
}

// after returns the index of the line with a position, the number of lines if the position is behind them.
func after(ends []int, at int) int {
	i, _ := slices.BinarySearch(ends, at+1)
	return i
}
