package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// served is a gateway in a process of its own.
type served struct {
	t       testing.TB
	process *world.Process
	url     string // the base URL, which ends with /v1
	key     string
	header  http.Header
}

// serve starts a gateway for the world's agents, and waits until it is ready.
func serve(w *world.World, args ...string) *served {
	p := w.Start("starter", append([]string{"serve", "--config", w.Config, "--listen", "127.0.0.1:0", "--ping", "200ms"}, args...)...)
	s := &served{t: w.T, process: p, header: http.Header{}}
	w.Eventually("the gateway is ready", func() bool {
		require.False(w.T, p.Ended(), p.Output())
		_, after, found := strings.Cut(p.Output(), "Base URL  ")
		s.url, _, _ = strings.Cut(after, "\n")
		return found && strings.Contains(p.Output(), "Ready.")
	})
	return s
}

// as returns the same gateway for a client with another key.
func (s *served) as(key string) *served {
	other := *s
	other.key, other.header = key, http.Header{}
	return &other
}

// with returns the same gateway for a client that sends a header.
func (s *served) with(name, value string) *served {
	other := *s
	other.header = s.header.Clone()
	other.header.Set(name, value)
	return &other
}

type object = map[string]any

// request sends a request. The caller closes the body.
func (s *served) request(method, path string, body any) *http.Response {
	s.t.Helper()
	var data io.Reader
	if text, ok := body.(string); ok {
		data = strings.NewReader(text)
	} else if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(s.t, err)
		data = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, data)
	require.NoError(s.t, err)
	maps.Copy(req.Header, s.header)
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	answer, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	return answer
}

// gets sends a request and returns the status and the object of the answer.
func (s *served) gets(method, path string, body any) (int, object) {
	s.t.Helper()
	answer := s.request(method, path, body)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	var got object
	require.NoError(s.t, json.Unmarshal(data, &got), string(data))
	return answer.StatusCode, got
}

// must is gets for an answer with the status 200.
func (s *served) must(method, path string, body any) object {
	s.t.Helper()
	status, got := s.gets(method, path, body)
	require.Equal(s.t, http.StatusOK, status, got)
	return got
}

// sent is an event of a stream, as it was sent.
type sent struct {
	name string
	data string
	object
}

// events reads the events of a stream up to its end, or until `stop` returns true.
func events(t testing.TB, body io.Reader, stop func(sent) bool) (all []sent) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 10<<20)
	var next sent
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			next.name = value
		case "data":
			next.data = value
			if value != "[DONE]" {
				require.NoError(t, json.Unmarshal([]byte(value), &next.object), value)
			}
			all = append(all, next)
			if stop != nil && stop(next) {
				return all
			}
			next = sent{}
		}
	}
	return all
}

// stream sends a request and reads its whole stream, which ends with [DONE].
func (s *served) stream(method, path string, body any) []sent {
	s.t.Helper()
	answer := s.request(method, path, body)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(answer.Body)
		require.Equal(s.t, http.StatusOK, answer.StatusCode, string(data))
	}
	all := events(s.t, answer.Body, nil)
	require.NotEmpty(s.t, all)
	require.Equal(s.t, "[DONE]", all[len(all)-1].data)
	return all[:len(all)-1]
}

// text returns the texts of all items of a response.
func text(response object) string {
	all := ""
	for _, item := range response["output"].([]any) {
		if parts, ok := item.(object)["content"].([]any); ok {
			for _, p := range parts {
				all += p.(object)["text"].(string)
			}
		}
	}
	return all
}

// types returns the types of the items of a response.
func types(response object) (all []string) {
	for _, item := range response["output"].([]any) {
		all = append(all, item.(object)["type"].(string))
	}
	return all
}

// agentOf returns the ID of the agent that a conversation is.
func agentOf(t testing.TB, conversation string) string {
	t.Helper()
	id, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(conversation, "conv_"))
	require.NoError(t, err)
	return string(id)
}
