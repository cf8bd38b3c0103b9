package openai

import (
	"encoding/json"
	"strings"
)

// growing is the text of a call's arguments, which arrives in parts. It notices when the arguments are a complete JSON object. The
// time for all parts together is proportional to the length of the text. The zero value is an empty text.
type growing struct {
	strings.Builder
	depth   int  // the number of open objects and lists
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	// closed says that the brackets of the text form one object or list, with only white space around it. broken says that closed can
	// never become true again.
	closed, broken bool
	valid          *bool // whether a closed text is a JSON object; nil if this is not known yet
}

func (g *growing) add(part string) {
	g.WriteString(part)
	for i := 0; i < len(part) && !g.broken; i++ {
		g.follow(part[i])
	}
}

// follow updates the state of the brackets with the next byte of the text.
func (g *growing) follow(b byte) {
	switch {
	case g.escaped:
		g.escaped = false
	case g.quoted:
		g.escaped, g.quoted = b == '\\', b != '"'
	case strings.IndexByte(" \t\r\n", b) >= 0:
	case g.closed, g.depth == 0 && b != '{' && b != '[':
		g.broken, g.closed = true, false
	case b == '"':
		g.quoted = true
	case b == '{' || b == '[':
		g.depth++
	case b == '}' || b == ']':
		g.depth--
		g.closed = g.depth == 0
	}
}

// complete reports whether the text is a JSON object.
func (g *growing) complete() bool {
	if !g.closed {
		return false
	}
	if g.valid == nil {
		text := g.String()
		valid := strings.HasSuffix(strings.TrimSpace(text), "}") && json.Valid([]byte(text))
		g.valid = &valid
	}
	return *g.valid
}
