package page

import (
	"bytes"
	"html"
	"html/template"
	"regexp"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/reagent-dev/reagent/internal/printable"
)

// maxMarkdown is the largest text that is shown as Markdown, in bytes. Larger ones are shown as they are.
const maxMarkdown = 200_000

var converter = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(plainNodes{}, 100))),
)

// allowed is what may remain of the converted Markdown. The converter makes nothing else, so this is a second lock on the same door.
var allowed = policy()

func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[A-Za-z0-9+#.-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// markdown returns a text of a model as HTML. HTML in the text is shown as text. An image becomes a link, because a browser would tell its
// server that somebody reads the text. Characters that nobody can see, or that change the order of others, become escapes.
func markdown(text string) template.HTML {
	text = printable.Text(text)
	var b bytes.Buffer
	if len(text) > maxMarkdown || converter.Convert([]byte(text), &b) != nil {
		return template.HTML("<pre>" + html.EscapeString(text) + "</pre>") //nolint:gosec // it is escaped
	}
	// A character reference may stand for a character that cannot be seen.
	return template.HTML(printable.Text(allowed.Sanitize(b.String()))) //nolint:gosec // it is sanitised
}

// plainNodes renders raw HTML as text, images as links, and headings below those of the page.
type plainNodes struct{}

func (plainNodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.Write(util.EscapeHTML(n.(*ast.RawHTML).Segments.Value(source)))
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block := n.(*ast.HTMLBlock)
		if !entering {
			if block.HasClosure() {
				_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
			}
			_, _ = w.WriteString("</p>\n")
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString("<p>")
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			_, _ = w.Write(util.EscapeHTML(line.Value(source)))
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			_, _ = w.WriteString("</a>")
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString(`<a href="`)
		_, _ = w.Write(util.EscapeHTML(util.URLEscape(n.(*ast.Image).Destination, true)))
		_, _ = w.WriteString(`">🖼 `)
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		level := "3456666"[n.(*ast.Heading).Level-1]
		if entering {
			_, _ = w.WriteString("<h" + string(level) + ">")
		} else {
			_, _ = w.WriteString("</h" + string(level) + ">\n")
		}
		return ast.WalkContinue, nil
	})
}
