package screen

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/internal/proposal"
)

// leads and texts are the styles of what a line of a form begins with, and of the rest of the line. They use only the weights and the basic
// colours of a terminal, which can be read on a light and on a dark background.
var (
	faint = lipgloss.NewStyle().Faint(true)
	leads = map[proposal.Kind]lipgloss.Style{
		proposal.Field: faint, proposal.Title: faint, proposal.Command: faint,
		proposal.Removed: lipgloss.NewStyle().Foreground(lipgloss.Red), proposal.Added: lipgloss.NewStyle().Foreground(lipgloss.Green),
	}
	texts = map[proposal.Kind]lipgloss.Style{
		proposal.Title: faint, proposal.Folded: faint, proposal.Command: lipgloss.NewStyle().Bold(true), proposal.Continued: lipgloss.NewStyle().Bold(true),
		proposal.Removed: leads[proposal.Removed], proposal.Added: leads[proposal.Added],
	}
)

// Form returns the lines of a form for a terminal, indented, with colours, and broken at `width` columns. No character is left out.
func Form(f proposal.Form, indent, width int) []string {
	var lines []string
	for _, l := range f {
		margin := strings.Repeat(" ", indent)
		lead := l.Lead
		if indent+ansi.StringWidth(lead) > width/2 { // a long name stands on lines of its own
			for _, line := range HardWrap(lead, width-indent) {
				lines = append(lines, margin+leads[l.Kind].Render(strings.TrimRight(line, " ")))
			}
			lead = "  "
			if l.Text == "" {
				continue
			}
		}
		for i, line := range HardWrap(l.Text, width-indent-ansi.StringWidth(lead)) {
			if i > 0 {
				lead = strings.Repeat(" ", ansi.StringWidth(lead))
			}
			lines = append(lines, margin+drawn(leads[l.Kind], lead)+drawn(texts[l.Kind], line))
		}
	}
	return lines
}

func drawn(style lipgloss.Style, text string) string {
	if text == "" {
		return ""
	}
	return style.Render(text)
}

// FormText returns a form as text for the output of a command. Each line begins with the indentation; the terminal breaks long lines. `styled`
// says whether the text has colours: see [Styled].
func FormText(f proposal.Form, indent string, styled bool) string {
	var b strings.Builder
	for _, l := range f {
		if styled {
			b.WriteString(indent + drawn(leads[l.Kind], l.Lead) + drawn(texts[l.Kind], l.Text) + "\n")
		} else {
			b.WriteString(indent + l.Lead + l.Text + "\n")
		}
	}
	return b.String()
}
