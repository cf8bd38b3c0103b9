package repair

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/llm"
)

var (
	// fenced matches a text that is one Markdown code block with fences, and captures the content of the block.
	fenced = regexp.MustCompile("(?s)^```[A-Za-z]*[ \\t]*\\r?\\n?(.*?)\\s*```$")
	// markup matches a text that may be removed after an object: tags of the model's chat template, the end of a code fence,
	// and superfluous closing brackets. Such a text cannot contain a value.
	markup = regexp.MustCompile("^(?:\\s|</?[A-Za-z_|][^<>{}\\[\\]\"]*>|```|[}\\]])+$")
)

// arguments corrects the arguments of a tool call. It returns the JSON object that the model meant, and `wrong`, a description of the
// mistakes, such as "were in a code fence". If there are no mistakes, or if it is not clear which object the model meant, arguments
// returns the given text unchanged, and "".
func arguments(text string) (object, wrong string) {
	trimmed := strings.TrimFunc(text, invisible)
	switch {
	case blank(trimmed):
		return "{}", "were empty or null"
	case llm.IsObject(text):
		return settle(text, trimmed, "")
	case llm.IsObject(trimmed):
		return settle(text, trimmed, "were next to invisible characters")
	}
	var inner string
	if json.Unmarshal([]byte(trimmed), &inner) == nil {
		if blank(inner) {
			return "{}", "were an encoded empty text"
		}
		// Only one encoding is undone. An object that was encoded several times is not changed.
		if inner = strings.TrimSpace(inner); llm.IsObject(inner) {
			return settle(text, inner, "were encoded twice")
		}
		return text, ""
	}
	if found := fenced.FindStringSubmatch(trimmed); found != nil && llm.IsObject(found[1]) {
		return settle(text, strings.TrimSpace(found[1]), "were in a code fence")
	}
	after := cursor{trimmed}
	first, ok := after.object()
	rest := strings.TrimSpace(after.rest)
	switch {
	case !ok:
		return text, ""
	case markup.MatchString(rest):
		return settle(text, first, "were followed by markup")
	case llm.IsObject(rest) && compact(first) == "{}":
		return settle(text, rest, "were after an empty object") // some gateways begin a call with {}, and send the arguments then
	case llm.IsObject(rest) && compact(first) == compact(rest):
		return settle(text, first, "were given twice")
	}
	return text, ""
}

// settle is the last step in the correction of a call's arguments. `original` is the text that the model wrote, `object` is the JSON
// object in this text, and `wrong` is a description of the mistakes that the earlier steps have corrected. settle replaces unpaired
// surrogates (see [pairs]) and removes duplicate members (see [single]). settle returns the corrected object and a description of all
// mistakes. If there were no mistakes, it returns the original text and "".
func settle(original, object, wrong string) (string, string) {
	if clean := pairs(object); clean != object {
		object, wrong = clean, join(wrong, "had an unpaired surrogate")
	}
	if once, ok := single(object); ok {
		object, wrong = once, join(wrong, "had a duplicate member")
	}
	if wrong == "" {
		return original, ""
	}
	return object, wrong
}

// join returns `a` and `b`, joined with "and". If `a` is empty, it returns `b`.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " and " + b
}

// invisible reports whether a character is white space, a byte order mark or another character without width.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' || r == '\u2060'
}

// blank reports whether a text stands for no arguments: whether it is empty, white space or null.
func blank(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed == "" || trimmed == "null"
}

// compact removes the white space between the tokens of a JSON object. The object must be valid.
func compact(object string) string {
	var out bytes.Buffer
	_ = json.Compact(&out, []byte(object))
	return out.String()
}
