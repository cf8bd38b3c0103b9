package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A request that goes on from a response and is sent again is the same request, and no branch.
func TestResponseSentAgain(t *testing.T) {
	w, _ := newShop(t)
	s := serve(w)
	first := s.must("POST", "/responses", object{"model": "x", "input": "hello"})
	for _, c := range []struct{ name, header, value string }{
		{"by its key", "Idempotency-Key", "k1"},
		{"by the count of its library", "X-Stainless-Retry-Count", "1"},
	} {
		next := object{"model": "x", "input": "then " + c.name, "previous_response_id": first["id"]}
		sender := s
		if c.header == "Idempotency-Key" {
			sender = s.with(c.header, c.value)
		}
		once := sender.must("POST", "/responses", next)
		require.Equal(t, once, s.with(c.header, c.value).must("POST", "/responses", next), c.name)
		require.NotEqual(t, once["id"], s.must("POST", "/responses", next)["id"], "without a sign of a retry, it is a branch")
		first = once
	}
	w.NothingTwice()
}
