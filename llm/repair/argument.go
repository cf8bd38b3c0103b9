package repair

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	// fenced is a code fence and nothing else.
	fenced = regexp.MustCompile("(?s)^```[A-Za-z]*[ \\t]*\\r?\\n?(.*?)\\s*```$")
	// markup is what may follow an object: tags of the model's own template, the
	// end of a fence, and brackets that were closed once too often. Nothing of it
	// can hold a value.
	markup = regexp.MustCompile("^(?:\\s|</?[A-Za-z_|][^<>{}\\[\\]\"]*>|```|[}\\]])+$")
)

// arguments returns the JSON object that text was meant to be, and what was
// wrong; nothing was when it is "". Text that is no object, or of which it is
// not plain which one, is returned as it is.
func arguments(text string) (object, wrong string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case blank(text):
		return "{}", "were none"
	case isObject(trimmed):
		return settle(text, trimmed, "")
	}
	var inner string
	if json.Unmarshal([]byte(trimmed), &inner) == nil {
		// One layer: an object that is encoded more often is another mistake.
		if inner = strings.TrimSpace(inner); isObject(inner) {
			return settle(text, inner, "were encoded twice")
		}
		return text, ""
	}
	if found := fenced.FindStringSubmatch(trimmed); found != nil && isObject(found[1]) {
		return settle(text, strings.TrimSpace(found[1]), "were in a code fence")
	}
	first, rest, ok := firstObject(trimmed)
	switch {
	case !ok:
		return text, ""
	case markup.MatchString(rest):
		return settle(text, first, "were followed by markup")
	case isObject(rest) && compact(first) == compact(rest):
		return settle(text, first, "were given twice")
	}
	return text, ""
}

// settle returns an object that has one meaning for everyone who reads it.
func settle(text, object, wrong string) (string, string) {
	if clean := pairs(object); clean != object {
		object, wrong = clean, join(wrong, "held half a character")
	}
	if once, ok := single(object); ok {
		object, wrong = once, join(wrong, "named a member twice")
	}
	if wrong == "" {
		return text, ""
	}
	return object, wrong
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " and " + b
}

// blank reports whether text stands for no arguments.
func blank(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed == "" || trimmed == "null"
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// firstObject cuts an object off the front of a text.
func firstObject(text string) (object, rest string, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return "", "", false
	}
	d := json.NewDecoder(strings.NewReader(text))
	var first json.RawMessage
	if d.Decode(&first) != nil {
		return "", "", false
	}
	return text[:d.InputOffset()], strings.TrimSpace(text[d.InputOffset():]), true
}

// compact is an object without the white space between its parts.
func compact(object string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(object); i++ {
		c := object[i]
		switch {
		case quoted && c == '\\':
			out.WriteByte(c)
			i++
			c = object[i]
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}
