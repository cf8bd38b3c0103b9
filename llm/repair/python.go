package repair

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	// pythonName matches the beginning of a call in Python, and pythonKey the beginning of an argument with a name.
	pythonName = regexp.MustCompile(`^(?:print\()?([A-Za-z_][A-Za-z0-9_.]{0,199})\(`)
	pythonKey  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,199})\s*=`)
	pythonWord = regexp.MustCompile(`^(?:True|False|None)\b`)
	number     = regexp.MustCompile(`^-?[0-9]{1,100}(?:\.[0-9]{1,100})?(?:[eE][+-]?[0-9]{1,10})?`)
)

// pythonWords has the words of Python for values of JSON.
var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

// pythonCalls reads calls in the syntax of Python, as Gemma and Llama write them: get_weather(city="Paris"), also in a list. All
// arguments must have names and literal values.
func pythonCalls(c *cursor) ([]spokenCall, bool) {
	list := c.token("[")
	var calls []spokenCall
	for c.space(); c.rest != "" && c.rest[0] != ']'; c.space() {
		call, ok := pythonCall(c)
		if !ok {
			return nil, false
		}
		calls = append(calls, call)
		c.token(",", ";")
	}
	return calls, len(calls) > 0 && (!list || c.token("]"))
}

func pythonCall(c *cursor) (spokenCall, bool) {
	found, ok := c.match(pythonName)
	if !ok {
		return spokenCall{}, false
	}
	out := []byte{'{'}
	seen := map[string]bool{}
	for !c.token(")") {
		key, ok := c.match(pythonKey)
		if !ok || seen[key[1]] {
			return spokenCall{}, false
		}
		if seen[key[1]] = true; len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(append(out, key[1]...), `":`...)
		if out, ok = literal(c, out, 0); !ok || !c.token(",") && !c.at(")") {
			return spokenCall{}, false
		}
	}
	if strings.HasPrefix(found[0], "print(") && !c.token(")") {
		return spokenCall{}, false
	}
	return spokenCall{name: found[1], arguments: string(append(out, '}'))}, true
}

// literal reads a literal of Python and appends it as JSON to the text `out`. `depth` is the number of lists and dictionaries around
// the literal.
func literal(c *cursor, out []byte, depth int) ([]byte, bool) {
	if c.space(); c.rest == "" || depth > maxDepth {
		return nil, false
	}
	switch c.rest[0] {
	case '"', '\'':
		text, ok := pythonString(c)
		return encode(out, text), ok
	case '[', '{':
		return collection(c, out, depth)
	}
	if word, ok := c.match(pythonWord); ok {
		return append(out, pythonWords[word[0]]...), true
	}
	digits, ok := c.match(number)
	return append(out, strings.Join(digits, "")...), ok && json.Valid([]byte(digits[0]))
}

// collection reads a list or a dictionary of Python and appends it as JSON to the text `out`. The keys of a dictionary must be
// strings. `depth` is the number of lists and dictionaries around the collection.
func collection(c *cursor, out []byte, depth int) ([]byte, bool) {
	begin, end := c.rest[0], "]"
	if begin == '{' {
		end = "}"
	}
	c.rest = c.rest[1:]
	out = append(out, begin)
	for n := 0; !c.token(end); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		if begin == '{' {
			c.space()
			key, ok := pythonString(c)
			if !ok || !c.token(":") {
				return nil, false
			}
			out = append(encode(out, key), ':')
		}
		var ok bool
		if out, ok = literal(c, out, depth+1); !ok || !c.token(",") && !c.at(end) {
			return nil, false
		}
	}
	return append(out, end...), true
}

// pythonString reads a string of Python. It returns false if the text does not begin with a complete string, for a string over several
// lines, and for a string with an escape other than \n, \r, \t, \\, \' and \".
func pythonString(c *cursor) (string, bool) {
	if c.rest == "" || c.rest[0] != '"' && c.rest[0] != '\'' || strings.HasPrefix(c.rest, `"""`) || strings.HasPrefix(c.rest, "'''") {
		return "", false
	}
	var out strings.Builder
	for i := 1; i < len(c.rest); i++ {
		switch b := c.rest[i]; b {
		case c.rest[0]:
			c.rest = c.rest[i+1:]
			return out.String(), true
		case '\n':
			return "", false
		case '\\':
			i++
			if i == len(c.rest) {
				return "", false
			}
			at := strings.IndexByte(`nrt\'"`, c.rest[i])
			if at < 0 {
				return "", false
			}
			out.WriteByte("\n\r\t\\'\""[at])
		default:
			out.WriteByte(b)
		}
	}
	return "", false
}
