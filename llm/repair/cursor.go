package repair

import (
	"encoding/json"
	"regexp"
	"strings"
)

// cursor has the part of a text that was not read yet. Each method that reads something also skips the white space before it. If a
// method returns false, it has read nothing.
type cursor struct{ rest string }

func (c *cursor) space() { c.rest = strings.TrimLeft(c.rest, " \t\r\n") }

// token reads the first of the given tokens with which the text begins.
func (c *cursor) token(tokens ...string) bool {
	ahead := *c
	ahead.space()
	for _, t := range tokens {
		if after, found := strings.CutPrefix(ahead.rest, t); found {
			c.rest = after
			return true
		}
	}
	return false
}

// at reports whether the text begins with a token. It reads nothing.
func (c *cursor) at(token string) bool {
	ahead := *c
	return ahead.token(token)
}

// match reads the text that a regular expression matches. The expression must begin with ^. match returns the match and its groups.
func (c *cursor) match(anchored *regexp.Regexp) ([]string, bool) {
	ahead := *c
	ahead.space()
	found := anchored.FindStringSubmatch(ahead.rest)
	if found == nil {
		return nil, false
	}
	c.rest = ahead.rest[len(found[0]):]
	return found, true
}

// until reads the text before a token, and the token. It does not skip white space.
func (c *cursor) until(token string) (string, bool) {
	before, after, found := strings.Cut(c.rest, token)
	if found {
		c.rest = after
	}
	return before, found
}

func (c *cursor) value() (string, bool) {
	ahead := *c
	ahead.space()
	if ahead.rest == "" || ahead.rest[0] != '{' && ahead.rest[0] != '[' {
		return "", false
	}
	d := json.NewDecoder(strings.NewReader(ahead.rest))
	var first json.RawMessage
	if d.Decode(&first) != nil {
		return "", false
	}
	text := ahead.rest[:d.InputOffset()]
	c.rest = ahead.rest[len(text):]
	return text, true
}

func (c *cursor) object() (string, bool) {
	ahead := *c
	if text, ok := ahead.value(); ok && text[0] == '{' {
		*c = ahead
		return text, true
	}
	return "", false
}

// arguments reads the arguments of a call and the token `end` after them. It also returns arguments that are not a JSON object, so
// that the agent refuses the call and the model reads why.
func (c *cursor) arguments(end string) (string, bool) {
	ahead := *c
	if text, ok := ahead.object(); ok && ahead.token(end) {
		*c = ahead
		return text, true
	}
	return c.until(end)
}
