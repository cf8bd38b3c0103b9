package reagenttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// recording is the content of a file of [Recorded].
type recording struct {
	Exchanges []exchange `json:"exchanges"`
}

// exchange is a request to an endpoint, and the response.
type exchange struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Request  body              `json:"request,omitzero"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers,omitempty"`
	Response body              `json:"response,omitzero"`
}

// body is the body of a request or a response, so that people can read it and compare it by lines. At most one field is set.
type body struct {
	JSON json.RawMessage `json:"json,omitempty"`
	// Lines are the lines of a text that is no JSON, such as an event stream. They are joined with line feeds.
	Lines []string `json:"lines,omitempty"`
	// Bytes is a body that is no UTF-8, in base 64.
	Bytes string `json:"bytes,omitempty"`
}

func newBody(text string) body {
	var compact bytes.Buffer
	switch {
	case text == "":
		return body{}
	case json.Compact(&compact, []byte(text)) == nil && compact.Len() > 0:
		return body{JSON: compact.Bytes()}
	case utf8.ValidString(text):
		return body{Lines: strings.Split(text, "\n")}
	}
	return body{Bytes: base64.StdEncoding.EncodeToString([]byte(text))}
}

// text returns the body. White space between the tokens of JSON may differ from what was sent.
func (b body) text() string {
	if b.Bytes != "" {
		raw, err := base64.StdEncoding.DecodeString(b.Bytes)
		if err == nil {
			return string(raw)
		}
	}
	var compact bytes.Buffer
	if len(b.JSON) > 0 && json.Compact(&compact, b.JSON) == nil {
		return compact.String()
	}
	return strings.Join(b.Lines, "\n")
}
