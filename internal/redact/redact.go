// Package redact replaces secrets in texts from endpoints, tools and MCP servers. Such a text may contain the API key that the
// endpoint or the tool received.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

const (
	hidden = "[hidden]"
	// minSecret is the minimum length of a secret in bytes. Shorter secrets are ignored.
	minSecret = 4
	// minEncoded is the minimum length, in bytes, of a secret that is also hidden in capitals or small letters, in hexadecimal and
	// in base64.
	minEncoded = 8
	// fragment is the minimum length, in bytes, of a part of a secret that is hidden. Parts are hidden only of secrets that look
	// random: see [LooksRandom].
	fragment = 12
)

// Redactor replaces secrets, such as API keys, in texts by "[hidden]". The nil Redactor replaces nothing. A Redactor is safe
// for concurrent use.
//
// A Redactor finds a secret in these forms:
//   - plain, also with white space or invisible characters in it
//   - percent-encoded, or with JSON escapes or the character references of HTML
//   - if the secret has at least 8 bytes: in capitals, in small letters and in any mixture of both
//   - if the secret has at least 8 bytes: in hexadecimal and in base64, also of the secret in capitals or in small letters
//
// The base64 text may use either alphabet, may have padding or not, and may encode a longer text that contains the secret.
//
// If a secret looks random (see [LooksRandom]), a Redactor also finds every part of the secret that has at least 12 bytes. A
// Redactor does not find secrets that are encrypted, compressed, reversed or split into smaller parts.
type Redactor struct {
	forms atomic.Pointer[forms]

	mu sync.Mutex
	// fixed are the secrets of [New], and added those of [Redactor.Add], the newest last.
	fixed, added []string
}

// maxAdded is the largest number of added secrets that are hidden. Tokens that live for an hour are added again and again.
const maxAdded = 64

// forms are the forms of the secrets.
type forms struct {
	// exact has the byte strings that are searched for in the text itself.
	exact windows
	// folded has byte strings in lower case. They are searched for in a copy of the text whose ASCII letters are in lower case.
	folded windows
}

// windows are the byte strings that are hidden: each part of a secret's form that is as long as its width (see [windows.add]).
type windows struct {
	set map[string]struct{}
	// lengths holds the different lengths of the byte strings in `set`.
	lengths []int
	// begin makes the search fast. Its element i is true if a byte string in `set` begins with the bytes i>>8 and i&0xff.
	begin *[1 << 16]bool
}

func newWindows() windows { return windows{set: map[string]struct{}{}, begin: new([1 << 16]bool)} }

// New returns a Redactor that hides the given secrets. It ignores white space around a secret, and secrets of fewer than 4
// bytes.
func New(secrets ...string) *Redactor {
	r := &Redactor{fixed: secrets}
	r.forms.Store(formsOf(secrets))
	return r
}

// Add hides more secrets from now on. The Redactor forgets the oldest added ones if there are more than 64.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := len(r.added)
	for _, secret := range secrets {
		if !slices.Contains(r.added, secret) && !slices.Contains(r.fixed, secret) {
			r.added = append(r.added, secret)
		}
	}
	if len(r.added) == known {
		return
	}
	r.added = slices.Clone(r.added[max(0, len(r.added)-maxAdded):])
	r.forms.Store(formsOf(slices.Concat(r.fixed, r.added)))
}

func formsOf(secrets []string) *forms {
	r := &forms{newWindows(), newWindows()}
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) < minSecret {
			continue
		}
		width := len(secret)
		if LooksRandom(secret) {
			width = fragment
		}
		r.exact.add(secret, width)
		r.exact.add(compact(secret).text, width)
		if len(secret) < minEncoded {
			continue
		}
		for _, form := range []string{secret, strings.ToLower(secret), strings.ToUpper(secret)} {
			r.folded.add(small(form), width)
			r.folded.add(small(compact(form).text), width)
			r.folded.add(hex.EncodeToString([]byte(form)), 2*width)
			r.addBase64(form, width)
		}
	}
	return r
}

// small changes only ASCII letters, so that each byte keeps its offset.
func small(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// Random is [New] for the secrets that look random (see [LooksRandom]). It ignores others, such as words and paths, because
// these also occur in harmless texts.
func Random(secrets ...string) *Redactor { return New(OnlyRandom(secrets)...) }

// OnlyRandom returns a new slice with the secrets that look random: see [LooksRandom].
func OnlyRandom(secrets []string) []string {
	return slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return !LooksRandom(strings.TrimSpace(s)) })
}

// LooksRandom reports whether a value is probably a key, and not a word, a path or a URL. Such a value has at least 16 bytes, has
// letters and digits, has no white space and no "://", and does not begin with "/" or ".".
func LooksRandom(value string) bool {
	return len(value) >= 16 && strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter) &&
		!strings.ContainsFunc(value, unicode.IsSpace) && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ".") &&
		!strings.Contains(value, "://")
}

// addBase64 adds parts of the base64 forms of a secret to the byte strings that are hidden, for both alphabets of base64. The
// Redactor then finds every encoded part of the secret that has at least `width` bytes.
func (r *forms) addBase64(secret string, width int) {
	// Base64 encodes groups of three bytes. So a secret within a longer text has three forms: one for each position of its first
	// byte in a group.
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + secret
		whole := len(padded) / 3 * 3
		encoded := base64.StdEncoding.EncodeToString([]byte(padded[:whole]))
		encoded = encoded[(before*8+5)/6:] // remove the characters that contain bits of the bytes before the secret
		// The windows are so short that the base64 form of every part of width bytes contains at least one window.
		r.exact.add(encoded, width/3*4-3)
		r.exact.add(strings.NewReplacer("+", "-", "/", "_").Replace(encoded), width/3*4-3)
	}
}

// add adds each part of the text that has `width` bytes. A shorter text is added as a whole.
func (w *windows) add(text string, width int) {
	width = min(width, len(text))
	if width < 2 {
		return
	}
	for i := range len(text) - width + 1 {
		window := text[i : i+width]
		w.set[window] = struct{}{}
		w.begin[int(window[0])<<8|int(window[1])] = true
	}
	if !slices.Contains(w.lengths, width) {
		w.lengths = append(w.lengths, width)
	}
}

// Text returns a text with each secret replaced by "[hidden]". If the text contains a secret, Text also replaces bytes that
// are not UTF-8 by U+FFFD.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return r.forms.Load().text(text)
}

func (r *forms) text(text string) string {
	if len(r.exact.set) == 0 {
		return text
	}
	spans := r.find(view{text: text}, nil)
	if strings.Contains(text, "%") {
		spans = r.find(percentDecoded(text), spans)
	}
	if strings.Contains(text, `\`) {
		spans = r.find(unescaped(text), spans)
	}
	if strings.Contains(text, "&") {
		spans = r.find(unreferenced(text), spans)
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

// span is the half-open byte range [from, to) of a text.
type span struct{ from, to int }

// find searches the decoded text of a view for the byte strings that are hidden. For each match, it appends to `spans` the bytes
// of the original text from which the match was decoded.
func (r *forms) find(v view, spans []span) []span {
	spans = r.exact.find(v.text, v, spans)
	if len(r.folded.set) > 0 {
		spans = r.folded.find(small(v.text), v, spans)
	}
	return spans
}

func (w *windows) find(text string, v view, spans []span) []span {
	for i := range len(text) - 1 {
		if !w.begin[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, n := range w.lengths {
			if i+n > len(text) {
				continue
			}
			if _, ok := w.set[text[i:i+n]]; ok {
				spans = append(spans, v.span(i, n))
			}
		}
	}
	return spans
}
