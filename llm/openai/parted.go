package openai

import (
	"cmp"
	"slices"
	"strings"
)

// parted is a text that arrives in parts: a part of a message or of a summary, for example. Each part comes as deltas, as a whole, or as both.
type parted []*textPart

type textPart struct {
	index  count
	deltas strings.Builder
	// whole is the text in the event at the end of the part. It counts more than the deltas, which some gateways encrypt.
	whole string
}

func (p *parted) at(index count) *textPart {
	if i := slices.IndexFunc(*p, func(t *textPart) bool { return t.index == index }); i >= 0 {
		return (*p)[i]
	}
	t := &textPart{index: index}
	*p = append(*p, t)
	return t
}

// add adds a delta to a part.
func (p *parted) add(index count, delta string) {
	if delta != "" {
		p.at(index).deltas.WriteString(delta)
	}
}

// end sets the whole text of a part, and reports whether no delta of the part has arrived. It ignores an empty text.
func (p *parted) end(index count, whole string) (news bool) {
	if whole == "" {
		return false
	}
	t := p.at(index)
	t.whole = whole
	return t.deltas.Len() == 0
}

func (p parted) empty() bool { return len(p) == 0 }

// streamed returns the text of the deltas, with `between` between the parts.
func (p parted) streamed(between string) string {
	var texts []string
	for _, t := range p {
		texts = append(texts, t.deltas.String())
	}
	return strings.Join(texts, between)
}

// join returns the text, with `between` between the parts.
func (p parted) join(between string) string {
	var texts []string
	for _, t := range p {
		texts = append(texts, cmp.Or(t.whole, t.deltas.String()))
	}
	return strings.Join(texts, between)
}
