package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what was answered twice under one key counts as repeated: a request that was refused or
// cut off was not paid for.
func TestRepeatedIsWhatWasAnsweredTwice(t *testing.T) {
	status := http.StatusOK
	c := newCounter(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	ask := func(path, key string) {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Idempotency-Key", key)
		c.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask("/v1/chat/completions", "a")
	ask("/v1/models", "a")
	require.Equal(t, ModelCount{Requests: 1, Keys: 1, Answered: 1}, c.count())
	status = http.StatusServiceUnavailable
	ask("/v1/chat/completions", "b")
	status = http.StatusOK
	ask("/v1/chat/completions", "b")
	require.Equal(t, ModelCount{Requests: 3, Keys: 2, Answered: 2}, c.count())
	ask("/v1/chat/completions", "a")
	require.Equal(t, ModelCount{Requests: 4, Keys: 2, Answered: 3, Repeated: 1}, c.count())
}

// A client closes the connection as soon as it has read the end of a stream. Its request counts as answered.
func TestAnAnswerEndsWithItsEndMark(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   int
	}{
		{"whole", []string{"data: {}\n\n", "data: [DO", "NE]\n\n"}, 1},
		{"cut off", []string{"data: {}\n\n", "data: [DO"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(context.Background())
			counted := newCounter(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for _, piece := range c.pieces {
					_, _ = io.WriteString(w, piece)
				}
				hangUp()
			}))
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", nil)
			counted.ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, c.want, counted.count().Answered)
		})
	}
}
