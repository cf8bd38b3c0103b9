package endpoint

import (
	"bufio"
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// IsStream reports whether a response is an event stream. The first bytes of the body are more important than the
// Content-Type header, because some endpoints send errors and complete replies with the Content-Type of a stream, or streams
// with the Content-Type of JSON. Lines of JSON without field names are an event stream, too, if the Content-Type says so.
func IsStream(header http.Header, body *bufio.Reader) bool {
	for n := 1; ; n++ {
		start, err := body.Peek(n)
		start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
		if len(start) == 0 && err == nil && n < body.Size() {
			continue
		}
		switch {
		case bytes.HasPrefix(start, []byte("{")):
			return linesOfJSON.MatchString(header.Get("Content-Type"))
		case bytes.HasPrefix(start, []byte("<")):
			return false
		case strings.HasPrefix(header.Get("Content-Type"), "text/event-stream"):
			return true
		}
		does, may := beginsField(start)
		if does || !may || err != nil || n >= body.Size() {
			return does
		}
	}
}

// linesOfJSON matches the Content-Types of responses with one JSON value in each line.
var linesOfJSON = regexp.MustCompile(`(?i)ndjson|jsonl|json-?lines|stream\+json`)

// beginsField reports whether a text begins with a field of an event stream, and whether it may begin with one when more of the text
// has arrived.
func beginsField(text []byte) (does, may bool) {
	for _, field := range []string{"data:", "event:", "id:", "retry:"} {
		does = does || bytes.HasPrefix(text, []byte(field))
		may = may || strings.HasPrefix(field, string(text[:min(len(text), len(field))]))
	}
	return does, may
}
