package redact

import (
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// view is a decoded form of an original text, for example without percent-encoding. A secret that is found in the decoded text
// can be hidden in the original text, because the view knows where each decoded byte comes from.
type view struct {
	text string // decoded
	// spans holds, for each byte of the decoded text, the bytes of the original text from which it was decoded. Nil means that
	// the field `text` is the original text.
	spans []span
}

// span returns the bytes of the original text from which the n decoded bytes at the offset i come. n must be positive.
func (v view) span(i, n int) span {
	if v.spans == nil {
		return span{i, i + n}
	}
	return span{v.spans[i].from, v.spans[i+n-1].to}
}

// rewrite decodes a text piece by piece. It calls `decode` with the rest of the text, which is not empty. `decode` decodes one
// piece at the start of the rest, and returns the length of the piece before the decoding, at least 1, and the decoded piece.
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

// maxReference is the length, in bytes, of the longest character reference that [unreferenced] decodes.
const maxReference = 12

// unreferenced decodes HTML character references, such as &amp; and &#0000043;.
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

// unescaped decodes JSON escapes, such as \u0041 and \/. It accepts more than one backslash before an escape, because JSON within a
// JSON string has two or more. The escapes \n, \r, \t, \b and \f become spaces.
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

// ignorable reports whether a text that repeats a secret may contain the character in the secret, such as a line break.
func ignorable(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// compact leaves out the characters that are [ignorable].
func compact(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		r, n := utf8.DecodeRuneInString(rest)
		if ignorable(r) {
			return n, ""
		}
		return n, rest[:n]
	})
}
