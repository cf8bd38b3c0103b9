// Package redact hides secrets in text that comes from outside: from endpoints, tools and servers that may repeat the key
// that they were given.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

const (
	// hidden stands in the place of a secret.
	hidden = "[hidden]"
	// minSecret is the length below which a text is not taken for a secret, in bytes.
	minSecret = 4
	// minEncoded is the length from which on the encoded forms of a secret are hidden too.
	minEncoded = 8
	// fragment is the number of consecutive bytes of a secret that are hidden, if [LooksRandom] says yes.
	fragment = 12
)

// Redactor hides secrets. The nil Redactor hides nothing. It is safe for concurrent use.
//
// It hides each secret, also percent-encoded, with the escapes of JSON, in hexadecimal, in base64 (of both alphabets, with
// and without padding, alone or within a longer text), and with white space between. Of a secret that looks random it hides
// every run of 12 bytes in these forms. It does not hide what is encrypted, compressed, reversed or split into smaller pieces.
type Redactor struct {
	// windows are the byte strings that are hidden, lengths their lengths, begin their first two bytes.
	windows map[string]struct{}
	lengths []int
	begin   *[1 << 16]bool
}

// New returns a Redactor of secrets. Those of fewer than 4 bytes are ignored.
func New(secrets ...string) *Redactor {
	r := &Redactor{windows: map[string]struct{}{}, begin: new([1 << 16]bool)}
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) < minSecret {
			continue
		}
		width := len(secret)
		if LooksRandom(secret) {
			width = fragment
		}
		r.add(secret, width)
		r.add(compact(secret).text, width)
		if len(secret) < minEncoded {
			continue
		}
		encoded := hex.EncodeToString([]byte(secret))
		r.add(encoded, 2*width)
		r.add(strings.ToUpper(encoded), 2*width)
		r.addBase64(secret, width)
	}
	return r
}

// Random returns a Redactor of those secrets that look random. It changes no text that only contains one of the other secrets, such as
// a word or a path.
func Random(secrets ...string) *Redactor { return New(OnlyRandom(secrets)...) }

// OnlyRandom returns those secrets that look random.
func OnlyRandom(secrets []string) []string {
	return slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return !LooksRandom(strings.TrimSpace(s)) })
}

// LooksRandom reports whether a value is a key rather than a word, a path or a URL: 16 bytes or more, letters and
// digits, no white space.
func LooksRandom(value string) bool {
	return len(value) >= 16 && strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter) &&
		!strings.ContainsFunc(value, unicode.IsSpace) && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ".") &&
		!strings.Contains(value, "://")
}

// addBase64 adds what base64 makes of a secret, at each of the three places that it may have in a longer text.
func (r *Redactor) addBase64(secret string, width int) {
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + secret
		whole := len(padded) / 3 * 3
		encoded := base64.StdEncoding.EncodeToString([]byte(padded[:whole]))
		encoded = encoded[(before*8+5)/6:] // characters that also hold bits of the text before
		r.add(encoded, width/3*4-3)
		r.add(strings.NewReplacer("+", "-", "/", "_").Replace(encoded), width/3*4-3)
	}
}

// add hides each run of width bytes of a text.
func (r *Redactor) add(text string, width int) {
	width = min(width, len(text))
	if width < 2 {
		return
	}
	for i := range len(text) - width + 1 {
		window := text[i : i+width]
		r.windows[window] = struct{}{}
		r.begin[int(window[0])<<8|int(window[1])] = true
	}
	if !slices.Contains(r.lengths, width) {
		r.lengths = append(r.lengths, width)
	}
}

// Text returns a text without the secrets.
func (r *Redactor) Text(text string) string {
	if r == nil || len(r.windows) == 0 {
		return text
	}
	spans := r.find(view{text: text}, nil)
	if strings.Contains(text, "%") {
		spans = r.find(percentDecoded(text), spans)
	}
	if strings.Contains(text, `\`) {
		spans = r.find(unescaped(text), spans)
	}
	if strings.ContainsFunc(text, ignorable) {
		spans = r.find(compact(text), spans)
	}
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	end := 0
	for i, s := range spans {
		if i == 0 || s.from > end {
			b.WriteString(text[end:s.from])
			b.WriteString(hidden)
		}
		end = max(end, s.to)
	}
	b.WriteString(text[end:])
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// span is a part of a text.
type span struct{ from, to int }

// find adds the parts of a text that are hidden, by its view.
func (r *Redactor) find(v view, spans []span) []span {
	for i := range len(v.text) - 1 {
		if !r.begin[int(v.text[i])<<8|int(v.text[i+1])] {
			continue
		}
		for _, n := range r.lengths {
			if i+n > len(v.text) {
				continue
			}
			if _, ok := r.windows[v.text[i:i+n]]; ok {
				spans = append(spans, v.span(i, n))
			}
		}
	}
	return spans
}
