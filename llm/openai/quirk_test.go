package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// quirk is a case in testdata/quirks: the response of an endpoint and the expected outcome. The README there describes the
// fields.
type quirk struct {
	Name       string
	Status     int
	Headers    map[string]string
	Body       json.RawMessage
	BodyBase64 string `json:"body_base64"`
	SSE        []string
	LineEnd    string `json:"line_end"`
	Disconnect bool
	Then       []quirk
	Expect     struct {
		Outcome string
		Class   []llm.Class
		Calls   []struct {
			Name      string
			Arguments json.RawMessage
		}
		Content       string
		Reasoning     string
		MinDelayMS    int64  `json:"min_delay_ms"`
		ErrorContains string `json:"error_contains"`
	}
}

// answer sends the response to the request with the given number. The first request has number 1.
func (q quirk) answer(t *testing.T, w http.ResponseWriter, number int) {
	if n := min(number-2, len(q.Then)-1); n >= 0 {
		q = q.Then[n]
	}
	if q.Disconnect {
		panic(http.ErrAbortHandler)
	}
	for name, value := range q.Headers {
		w.Header().Set(name, fill(value))
	}
	w.WriteHeader(q.Status)
	_, err := w.Write(q.bytes(t))
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		t.Log(err) // the client may have stopped reading
	}
}

// bytes returns the body of the response.
func (q quirk) bytes(t testing.TB) []byte {
	var text string
	switch {
	case q.SSE != nil:
		end := q.LineEnd
		if end == "" {
			end = "\n"
		}
		return []byte(strings.Join(q.SSE, end))
	case q.BodyBase64 != "":
		decoded, err := base64.StdEncoding.DecodeString(q.BodyBase64)
		if err != nil {
			t.Error(err)
		}
		return decoded
	case json.Unmarshal(q.Body, &text) == nil && bytes.HasPrefix(q.Body, []byte(`"`)):
		return []byte(fill(text))
	}
	return []byte(fill(string(q.Body)))
}

var placeholder = regexp.MustCompile(`@(PAD|HTTPDATE):(\d+)@`)

// fill replaces the placeholders in s: @PAD:n@ by n letters, and @HTTPDATE:n@ by the date n seconds from now.
func fill(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		n, _ := strconv.Atoi(parts[2])
		if parts[1] == "PAD" {
			return strings.Repeat("x", n)
		}
		return time.Now().Add(time.Duration(n) * time.Second).UTC().Format(http.TimeFormat)
	})
}
