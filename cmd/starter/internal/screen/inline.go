package screen

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inline returns the text in a node, which begins with a style. A line break of the source stays one, because models write texts with lines of
// their own.
func (r *renderer) inline(n ast.Node, st style) []span {
	var spans []span
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		spans = append(spans, r.inlineOf(child, st)...)
	}
	return spans
}

func (r *renderer) inlineOf(n ast.Node, st style) []span {
	switch n := n.(type) {
	case *ast.Text:
		text := string(util.UnescapePunctuations(n.Segment.Value(r.source)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			text += "\n"
		}
		return []span{{text, st}}
	case *ast.String:
		return []span{{string(n.Value), st}}
	case *ast.CodeSpan:
		st.colour = codeColour
		return []span{{strings.ReplaceAll(r.codeSpan(n), "\n", " "), st}}
	case *ast.Emphasis:
		if n.Level > 1 {
			st.bold = true
		} else {
			st.italic = true
		}
		return r.inline(n, st)
	case *extast.Strikethrough:
		st.strike = true
		return r.inline(n, st)
	case *ast.Link:
		return r.link(n, string(n.Destination), st)
	case *ast.Image:
		return r.link(n, string(n.Destination), st)
	case *ast.AutoLink:
		st.underlined = true
		return []span{{string(n.Label(r.source)), st}}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.Write(segment.Value(r.source))
		}
		return []span{{b.String(), st}}
	}
	return r.inline(n, st)
}

func (r *renderer) codeSpan(n ast.Node) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if text, ok := child.(*ast.Text); ok {
			b.Write(text.Segment.Value(r.source))
		}
	}
	return b.String()
}

// link returns the label of a link and its address, unless both are the same. The address is text, because it comes from the model.
func (r *renderer) link(n ast.Node, address string, st style) []span {
	plain := st
	st.underlined = true
	label := r.inline(n, st)
	switch {
	case textOf(label) == address:
		return label
	case textOf(label) == "":
		return []span{{address, st}}
	}
	return append(label, span{" (" + address + ")", plain})
}
