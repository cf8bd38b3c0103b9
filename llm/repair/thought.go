package repair

import (
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// thoughtTag matches the tags that models write around their reasoning.
var thoughtTag = regexp.MustCompile(`^(?:</?(?:think|thinking|thought|seed:think)>|\[/?THINK\])`)

// nextTag returns the position of the first tag that [thoughtTag] matches, at `from` or later, and the position after the tag. If
// there is no such tag, the last result is false.
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

// think moves the reasoning in the text of a message to the field Reasoning. Some endpoints do not separate reasoning and text. If the
// message already has reasoning, the reasoning in the text is only removed. `cut` says that the text reached the output limit.
func think(m *llm.Message, cut bool) {
	var thoughts []string
	said, removed := m.Content, false
	if m.Reasoning == "" { // if there is other reasoning, the text before a closing tag is part of the answer
		thought, rest, found := unopened(said)
		if found && (rest != "" || len(m.ToolCalls) > 0 || cut) {
			thoughts, said, removed = append(thoughts, thought), rest, true
		}
	}
	for range maxLayers {
		thought, rest, found := harmony(said)
		if !found {
			thought, rest, found = splitThought(said, cut)
		}
		if !found {
			break
		}
		if said, removed = rest, true; thought != "" {
			thoughts = append(thoughts, thought)
		}
	}
	if m.Content = said; removed && m.Reasoning == "" {
		m.Reasoning = strings.Join(thoughts, "\n\n")
	}
}

// maxLayers is the maximum number of blocks of reasoning that [think] removes from the beginning of a text.
const maxLayers = 100

// splitThought separates a block of reasoning at the beginning of a text from the text after it. The closing tag of the block may be
// missing only if `cut` says that the text was cut off. If the text does not begin with reasoning, splitThought returns the text and
// false.
func splitThought(text string, cut bool) (thought, said string, found bool) {
	trimmed := strings.TrimSpace(text)
	begin, end, found := nextTag(trimmed, 0)
	if !found || begin != 0 || closes(trimmed[:end]) {
		return "", text, false
	}
	closing := strings.Replace(strings.Replace(trimmed[:end], "<", "</", 1), "[", "[/", 1)
	thought, said, found = strings.Cut(trimmed[end:], closing)
	if !found && !cut {
		return "", text, false
	}
	return strings.TrimSpace(thought), strings.TrimSpace(said), true
}

// unopened separates a block of reasoning without an opening tag, at the beginning of a text, from the text after it. The chat templates of
// some models end with the opening tag, so that the model writes only the closing tag.
//
// The last result is false if there is no such block: the text has no closing tag, or an opening tag stands before the closing tag. A
// closing tag in a code fence, or one that is only [mentioned], does not end a block.
func unopened(text string) (thought, said string, found bool) {
	fences, from := 0, 0
	for {
		begin, end, ok := nextTag(text, from)
		if !ok || !closes(text[begin:end]) {
			return "", "", false
		}
		fences += strings.Count(text[from:begin], "```")
		if fences%2 == 0 && !mentioned(text, begin, end) {
			tag := strings.TrimRight(strings.Replace(text[begin:end], "/", "", 1), ">]")
			// An opening tag with attributes is no tag of reasoning, so this closing tag belongs to the answer.
			return strings.TrimSpace(text[:begin]), strings.TrimSpace(text[end:]), !strings.Contains(text[:begin], tag)
		}
		from = end
	}
}

func closes(tag string) bool { return tag[1] == '/' }

// mentioned reports whether the text only mentions the closing tag `text[from:to]`. This is so if there is text before the tag in its
// line, and one of these is true:
//   - There is text after the tag in the line.
//   - The character before the tag is a space, a quotation mark or a parenthesis.
func mentioned(text string, from, to int) bool {
	begins, ends := from == 0 || text[from-1] == '\n', to == len(text) || strings.IndexByte("\r\n", text[to]) >= 0
	return !begins && (!ends || strings.IndexByte(" \t`'\"(", text[from-1]) >= 0)
}
