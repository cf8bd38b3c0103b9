package redact

import (
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// view is a decoded form of an original text, for example without percent-encoding. It knows for each decoded byte from which
// bytes of the original text the byte comes. Therefore a secret that is found in the decoded text can be hidden in the
// original text.
type view struct {
	text string // the decoded text
	// spans holds, for each byte of the decoded text, the range of bytes in the original text from which the byte was
	// decoded. Nil means that the field `text` is the original text.
	spans []span
}

// span returns the range of bytes in the original text from which n bytes of the decoded text come. The first of these n
// bytes has the offset i in the decoded text. The number n must be positive.
func (v view) span(i, n int) span {
	if v.spans == nil {
		return span{i, i + n}
	}
	return span{v.spans[i].from, v.spans[i+n-1].to}
}

// rewrite decodes a text piece by piece and returns the view. It calls the function `decode` with the part of the text that is
// not decoded yet. The function decodes one piece at the start of this part. It returns the length of the piece before the
// decoding, and the decoded piece. The length must be at least 1.
func rewrite(text string, decode func(rest string) (length int, decoded string)) view {
	var b strings.Builder
	spans := make([]span, 0, len(text))
	for i := 0; i < len(text); {
		length, decoded := decode(text[i:])
		for range len(decoded) {
			spans = append(spans, span{i, i + length})
		}
		b.WriteString(decoded)
		i += length
	}
	return view{b.String(), spans}
}

func percentDecoded(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		if rest[0] == '%' && len(rest) >= 3 {
			if b, err := hex.DecodeString(rest[1:3]); err == nil {
				return 3, string(b)
			}
		}
		return 1, rest[:1]
	})
}

// maxReference is the length in bytes of the longest character reference that [unreferenced] decodes, such as &#0000043; or &lowbar;.
const maxReference = 12

// unreferenced decodes HTML character references, such as &amp; and &#43;.
func unreferenced(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		if rest[0] == '&' {
			if end := strings.IndexByte(rest[:min(len(rest), maxReference)], ';'); end > 0 {
				if decoded := html.UnescapeString(rest[:end+1]); decoded != rest[:end+1] {
					return end + 1, decoded
				}
			}
		}
		return 1, rest[:1]
	})
}

// unescaped returns the view of a text with its JSON escapes decoded, such as \u0041 and \/. It accepts more than one backslash
// before an escape, because JSON within a JSON string has two or more. The escapes \n, \r, \t, \b and \f become spaces.
func unescaped(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
		if slashes == 0 || slashes == len(rest) {
			return 1, rest[:1]
		}
		switch after := rest[slashes:]; after[0] {
		case 'u':
			if len(after) >= 5 {
				if n, err := strconv.ParseUint(after[1:5], 16, 16); err == nil {
					return slashes + 5, string(rune(n))
				}
			}
		case 'n', 'r', 't', 'b', 'f':
			return slashes + 1, " "
		case '"', '/':
			return slashes + 1, after[:1]
		}
		return slashes, `\`
	})
}

// Such characters may be inserted into a secret.
func ignorable(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

func compact(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		r, n := utf8.DecodeRuneInString(rest)
		if ignorable(r) {
			return n, ""
		}
		return n, rest[:n]
	})
}
