package screen

import (
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// maxHighlight is the time that the colours of the code in one text may take. The code after it has one colour.
const maxHighlight = time.Second

// maxCode is the size in bytes of the longest block of code with colours.
const maxCode = 20_000

// highlighting gives code its colours.
type highlighting struct{ left time.Duration }

// spans returns the code with the colours of its language. Code in an unknown language has one colour.
func (h *highlighting) spans(code, language string) []span {
	plain := []span{{code, style{colour: codeColour}}}
	var lexer chroma.Lexer
	if language != "" && len(code) <= maxCode && h.left > 0 {
		lexer = lexers.Get(language)
	}
	if lexer == nil {
		return plain
	}
	code += "\n" // as the grammars expect
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, code)
	if err != nil {
		return plain
	}
	var spans []span
	var b strings.Builder
	began := time.Now()
	for token := next(); token != chroma.EOF; token = next() {
		spans = append(spans, span{token.Value, styleOf(token.Type)})
		b.WriteString(token.Value)
		if len(spans)%8 == 0 && time.Since(began) > h.left {
			break
		}
	}
	h.left -= time.Since(began)
	rest, ok := strings.CutPrefix(code, b.String())
	if !ok {
		return plain // nothing of a text may be missing
	}
	spans = append(spans, span{rest, style{colour: codeColour}})
	for i := range slices.Backward(spans) {
		if text, ok := strings.CutSuffix(spans[i].text, "\n"); ok || text != "" {
			spans[i].text = text
			break
		}
	}
	return spans
}

func styleOf(t chroma.TokenType) style {
	switch {
	case t.InCategory(chroma.Comment):
		return style{faint: true}
	case t.InCategory(chroma.Keyword), t == chroma.NameTag:
		return style{colour: 35}
	case t.InSubCategory(chroma.LiteralString), t == chroma.GenericInserted:
		return style{colour: 32}
	case t == chroma.GenericDeleted:
		return style{colour: 31}
	case t.InSubCategory(chroma.LiteralNumber), t == chroma.NameFunction, t == chroma.NameAttribute, t.InSubCategory(chroma.NameBuiltin):
		return style{colour: 36}
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return style{bold: true}
	}
	return style{}
}
