package redact

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// view is a text as it reads decoded, with the places in the original.
type view struct {
	text string
	// spans are the places in the original of each byte; nil where they are the same.
	spans []span
}

// span returns the place in the original of n bytes from i on.
func (v view) span(i, n int) span {
	if v.spans == nil {
		return span{i, i + n}
	}
	return span{v.spans[i].from, v.spans[i+n-1].to}
}

// rewrite makes a view with a function that decodes the beginning of a text: how many bytes it takes, and what they stand for.
func rewrite(text string, decode func(rest string) (taken int, as string)) view {
	var b strings.Builder
	spans := make([]span, 0, len(text))
	for i := 0; i < len(text); {
		taken, as := decode(text[i:])
		for range len(as) {
			spans = append(spans, span{i, i + taken})
		}
		b.WriteString(as)
		i += taken
	}
	return view{b.String(), spans}
}

// percentDecoded is a text with its %XX decoded.
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

// unescaped is a text with the escapes of JSON decoded, such as \u0041 and \/. Escapes may be escaped themselves.
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

// ignorable are the characters that do not show: white space, and what has no width.
func ignorable(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// compact is a text without the characters that do not show.
func compact(text string) view {
	return rewrite(text, func(rest string) (int, string) {
		r, n := utf8.DecodeRuneInString(rest)
		if ignorable(r) {
			return n, ""
		}
		return n, rest[:n]
	})
}
