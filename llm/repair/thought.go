package repair

import (
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// thoughtTag matches the tags that models write around their reasoning.
var thoughtTag = regexp.MustCompile(`^(?:</?(?:think|thinking|thought|seed:think)>|\[/?THINK\])`)

// nextTag returns the position of the first of these tags, from a given position on, and the position after the tag. If there is
// none, the last result is false.
func nextTag(text string, from int) (begin, end int, ok bool) {
	for ; ; from++ {
		n := strings.IndexAny(text[from:], "<[")
		if n < 0 {
			return 0, 0, false
		}
		from += n
		if tag := thoughtTag.FindString(text[from:]); tag != "" {
			return from, from + len(tag), true
		}
	}
}

// think moves the reasoning that is in the text of a message to the field Reasoning. Some endpoints do not separate the two. If the
// message already has reasoning, the reasoning in the text is only removed. The caller says whether the text reached the output
// limit (cut).
func think(m *llm.Message, cut bool) {
	var thoughts []string
	said, removed := m.Content, false
	for range maxLayers {
		inner, rest, found := harmony(said)
		if !found {
			// Beside other reasoning, or without an answer after it, a text before a closing tag is more likely the answer.
			unopened := !removed && m.Reasoning == ""
			inner, rest, found = splitThought(said, cut, unopened)
			if found && strings.TrimSpace(rest) == "" && len(m.ToolCalls) == 0 && !opened(said) && !cut {
				break
			}
		}
		if !found {
			break
		}
		if removed, said = true, rest; inner != "" {
			thoughts = append(thoughts, inner)
		}
	}
	if m.Content = said; removed && m.Reasoning == "" {
		m.Reasoning = strings.Join(thoughts, "\n\n")
	}
}

// maxLayers is the maximum number of blocks of reasoning that [think] removes from the beginning of a text.
const maxLayers = 8

// splitThought separates blocks of reasoning at the beginning of a text from the rest of the text (said). It returns the texts in the
// blocks, joined with an empty line (thought). The opening tag of the first block may be missing if the caller allows it (unopened),
// because the chat templates of some models end with it. The closing tag of the last block may only be missing if the text was cut
// off (cut). If the text does not begin with reasoning, the last result is false.
func splitThought(text string, cut, unopened bool) (thought, said string, found bool) {
	var thoughts []string
	rest := strings.TrimSpace(text)
	for {
		inner, after, ok := firstThought(rest, cut, unopened && !found)
		if !ok {
			break
		}
		found = true
		if inner = strings.TrimSpace(inner); inner != "" {
			thoughts = append(thoughts, inner)
		}
		rest = strings.TrimSpace(after)
	}
	if !found {
		return "", text, false
	}
	return strings.Join(thoughts, "\n\n"), rest, true
}

// opened reports whether a text begins with the opening tag of a block of reasoning.
func opened(text string) bool {
	text = strings.TrimSpace(text)
	begin, end, found := nextTag(text, 0)
	return found && begin == 0 && !closes(text[:end])
}

// firstThought returns the reasoning at the beginning of a text, and the text after it. The caller says whether the text was cut
// off (cut), and whether the opening tag may be missing (unopened).
func firstThought(text string, cut, unopened bool) (thought, rest string, ok bool) {
	begin, end, found := nextTag(text, 0)
	if !found {
		return "", "", false
	}
	if tag := text[:end]; begin == 0 && !closes(tag) {
		closing := strings.Replace(strings.Replace(tag, "<", "</", 1), "[", "[/", 1)
		if thought, rest, ok = strings.Cut(text[end:], closing); ok {
			return thought, rest, true
		}
		return text[end:], "", cut
	}
	if !unopened {
		return "", "", false
	}
	fences, from := 0, 0
	for found && closes(text[begin:end]) {
		fences += strings.Count(text[from:begin], "```")
		if fences%2 == 0 && !mentioned(text, begin, end) {
			opening := strings.TrimRight(strings.Replace(text[begin:end], "/", "", 1), ">]")
			// With an opening tag before it, the closing tag belongs to the text, such as an example in XML.
			return text[:begin], text[end:], !strings.Contains(text[:begin], opening)
		}
		from = end
		begin, end, found = nextTag(text, from)
	}
	return "", "", false
}

// closes reports whether a tag is a closing tag.
func closes(tag string) bool { return tag[1] == '/' }

// mentioned reports whether a text speaks about the closing tag from one position to another: whether there is text on both sides of
// the tag in its line, or the tag is a word of its line or in quotes.
func mentioned(text string, from, to int) bool {
	begins, ends := from == 0 || text[from-1] == '\n', to == len(text) || strings.IndexByte("\r\n", text[to]) >= 0
	return !begins && (!ends || strings.IndexByte(" \t`'\"(", text[from-1]) >= 0)
}
