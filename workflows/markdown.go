package workflows

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/internal/clip"
)

// This file makes Markdown of text that nobody has checked.

// lineRunes is the length of the lines of a quoted text.
const lineRunes = 90

// quote writes untrusted text as a Markdown block that nothing in it can end, in
// lines that fit into the page.
func quote(text string, limit int) string {
	var b strings.Builder
	for part := range strings.Lines(visible(clip.Text(text, limit))) {
		part = strings.TrimRight(part, "\n")
		if len(part) <= lineRunes {
			b.WriteString("    " + part + "\n")
			continue
		}
		runes := []rune(part)
		for {
			end := min(len(runes), lineRunes)
			if space := slices.Index(runes[end/2:end], ' '); end < len(runes) && space >= 0 {
				for end > 0 && runes[end-1] != ' ' {
					end--
				}
			}
			b.WriteString("    " + string(runes[:end]) + "\n")
			if runes = runes[end:]; len(runes) == 0 {
				break
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code writes untrusted text as Markdown code on one line.
func code(text string, limit int) string {
	text = cmp.Or(strings.Join(strings.Fields(visible(clip.Text(text, limit))), " "), "–")
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// oneLine makes one line of text for a summary. The Web UI shows it as Markdown, so HTML and links are made plain.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(visible(clip.Text(text, 4*summaryBytes))), " ")
	return clip.Text(noMarkup.Replace(text), summaryBytes)
}

var noMarkup = strings.NewReplacer("<", "‹", ">", "›", "](", "] (", "`", "'")

// closed ends details with a paragraph that looks empty: the Web UI cuts off the last line.
func closed(text string) string {
	const end = "\n\n&nbsp;\n"
	return clip.Text(text, detailsBytes-len(end)) + end
}

// lineBreaks makes a new line of everything that Markdown, or a browser, takes for one.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// visible returns text with plain line breaks, and without control characters and those that turn the direction of writing.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, lineBreaks.Replace(strings.ToValidUTF8(text, "\uFFFD")))
}

// workflowPath returns the path of a workflow's page in the Web UI.
func workflowPath(namespace, id string) string {
	return "/namespaces/" + noParentheses.Replace(url.PathEscape(namespace)) + "/workflows/" + noParentheses.Replace(url.PathEscape(id))
}

// noParentheses escapes what would end a Markdown link.
var noParentheses = strings.NewReplacer("(", "%28", ")", "%29")

// shellWord quotes an agent's ID for a shell, where it has to be.
func shellWord(id string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@+=,", r)
	}
	if id != "" && !strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}
