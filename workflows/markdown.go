package workflows

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/internal/clip"
)

// This file converts untrusted text to Markdown.

// lineRunes is the largest length, in characters, of one line that [quote] returns, without the indent.
const lineRunes = 90

// quote returns untrusted text as an indented code block in Markdown. No text can end the block. If the text has more than
// `limit` bytes, quote cuts it. Lines of more than [lineRunes] characters are broken to fit into the page.
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

// code returns untrusted text as Markdown code on one line, or a dash for an empty text. If the text has more than `limit`
// bytes, code cuts it.
func code(text string, limit int) string {
	text = cmp.Or(strings.Join(strings.Fields(visible(clip.Text(text, limit))), " "), "–")
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// oneLine shortens a text to one line of at most [summaryBytes] bytes, for a summary in the Web UI. It replaces the characters of
// HTML, links and code, because the Web UI shows summaries as Markdown.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(visible(clip.Text(text, 4*summaryBytes))), " ")
	return clip.Text(noMarkup.Replace(text), summaryBytes)
}

var noMarkup = strings.NewReplacer("<", "‹", ">", "›", "](", "] (", "`", "'")

// closed ends a Markdown text for the details of a workflow, and cuts it to [detailsBytes] bytes. The last paragraph looks empty, because
// the Web UI does not show the last line.
func closed(b *strings.Builder) string {
	const end = "\n\n&nbsp;\n"
	if b.Len() > detailsBytes-len(end) {
		return clip.Text(b.String(), detailsBytes-len(end)) + end
	}
	b.WriteString(end)
	return b.String()
}

// lineBreaks replaces with "\n" everything that Markdown or a browser treats as a line break.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// visible removes invisible characters from a text: control characters other than tabs, and characters that change the
// direction of writing. The result is valid UTF-8, and its only line break is "\n".
func visible(text string) string {
	plain := func(r rune) bool { return r >= ' ' && r < 0x7F || r == '\n' || r == '\t' }
	if !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text // most texts; the steps below take longer
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, lineBreaks.Replace(strings.ToValidUTF8(text, "\uFFFD")))
}

func workflowPath(namespace, id string) string {
	return "/namespaces/" + noParentheses.Replace(url.PathEscape(namespace)) + "/workflows/" + noParentheses.Replace(url.PathEscape(id))
}

// noParentheses escapes parentheses, because they would end a Markdown link.
var noParentheses = strings.NewReplacer("(", "%28", ")", "%29")
