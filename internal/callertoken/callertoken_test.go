package callertoken_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/tool"
)

// counting is a source whose tokens live for a minute. It counts the tokens of each reference and audience.
type counting struct {
	mu    sync.Mutex
	given map[string]int
}

func (c *counting) token(_ context.Context, r tool.TokenRequest) (tool.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := r.Reference + " at " + r.Audience
	c.given[who]++
	return tool.Token{Value: fmt.Sprintf("%s-%s-%d", r.Reference, r.Audience, c.given[who]), Expires: time.Now().Add(time.Minute)}, nil
}

// A token is given out only for its caller and its audience. It is replaced shortly before it expires, and when it was refused.
func TestTokenIsKeptForItsCallerUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := callertoken.NewCache((&counting{given: map[string]int{}}).token)
		get := func(reference, audience, refused string) string {
			token, err := c.Token(t.Context(), reference, audience, refused)
			require.NoError(t, err)
			return token
		}
		for range 2 {
			require.Equal(t, "ann-orders-1", get("ann", "orders", ""))
			require.Equal(t, "bob-orders-1", get("bob", "orders", ""))
			require.Equal(t, "ann-mail-1", get("ann", "mail", ""))
		}
		time.Sleep(51 * time.Second)
		require.Equal(t, "ann-orders-2", get("ann", "orders", ""))
		for range 2 { // two requests that were sent with the old token are refused one after the other
			require.Equal(t, "ann-orders-3", get("ann", "orders", "ann-orders-2"))
		}

		// A token without an end serves one call.
		n := 0
		once := callertoken.NewCache(func(context.Context, tool.TokenRequest) (tool.Token, error) {
			n++
			return tool.Token{Value: fmt.Sprint("once-", n)}, nil
		})
		for i := range 2 {
			token, err := once.Token(t.Context(), "ann", "orders", "")
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("once-", i+1), token)
		}
	})
}

func TestAttackManyReferencesAreBounded(t *testing.T) {
	c := callertoken.NewCache((&counting{given: map[string]int{}}).token)
	for i := range 20_001 {
		_, err := c.Token(t.Context(), fmt.Sprint(i), "orders", "")
		require.NoError(t, err)
	}
	require.LessOrEqual(t, c.Len(), 10_000)
}

// Each answer of a source gives a token, a final error or an error after which Temporal tries again. No error has a token or a header.
func TestAnswersOfASource(t *testing.T) {
	const secret = "tok-51f7c0de9ab34d21"
	for name, c := range map[string]struct {
		status         int
		body           string
		token          string
		final, expired bool
		reason         string
	}{
		"a token":             {200, `{"access_token":"` + secret + `","expires_in":300,"token_type":"Bearer"}`, secret, false, false, ""},
		"expired":             {400, `{"error":"invalid_grant","error_description":"the session is over","sign_in_url":"https://login.example.com"}`, "", true, true, "the session is over"},
		"refused":             {403, `{"error":"access_denied"}`, "", true, false, "access_denied"},
		"refused with status": {404, `not found ` + secret, "", true, false, "HTTP 404"},
		"a redirect":          {302, ``, "", true, false, "HTTP 302"},
		"busy":                {429, `{"error":"slow_down"}`, "", false, false, "HTTP 429"},
		"broken":              {503, secret, "", false, false, "HTTP 503"},
		"no JSON":             {200, secret, "", false, false, "the answer is not JSON"},
		"no token":            {200, `{"token":"` + secret + `"}`, "", false, false, "neither access_token nor error"},
		"a token of lines":    {200, `{"access_token":"` + secret + `\r\nX: y"}`, "", false, false, "other characters than a header may have"},
		"much":                {200, `{"access_token":"` + strings.Repeat(secret, 10_000) + `"}`, "", false, false, "more than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != `{"reference":"ann","audience":"orders","refused":false}` || r.Header.Get("X-Key") != "key-of-the-worker" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			t.Cleanup(server.Close)
			headers := func() (map[string]string, error) { return map[string]string{"X-Key": "key-of-the-worker"}, nil }
			token, err := callertoken.NewCache(callertoken.HTTP(server.URL, headers, nil, 0)).Token(t.Context(), "ann", "orders", "")
			require.Equal(t, c.token, token)
			if c.token != "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.reason)
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, err.Error(), "key-of-the-worker")
			refusal, final := errors.AsType[*tool.TokenError](err)
			require.Equal(t, c.final, final)
			require.Equal(t, c.expired, final && refusal.Expired)
			require.Equal(t, c.expired, final && refusal.SignIn != "")
		})
	}
}

// A program gets the question on its standard input. A program that fails is tried again.
func TestProgramIsASource(t *testing.T) {
	t.Parallel()
	get := func(script string) (string, error) {
		source := callertoken.Command([]string{"sh", "-c", script}, 5*time.Second)
		return callertoken.NewCache(source).Token(t.Context(), "ann", "orders", "")
	}
	token, err := get(`read question; case $question in *'"reference":"ann","audience":"orders"'*) echo '{"access_token":"tok-of-ann"}';; esac`)
	require.NoError(t, err)
	require.Equal(t, "tok-of-ann", token)
	_, err = get(`set -x; echo tok-of-ann; exit 3`)
	require.ErrorContains(t, err, "caller_tokens: sh: the command failed: exit status 3")
	require.NotContains(t, err.Error(), "tok-of-ann")
	require.False(t, errors.As(err, new(*tool.TokenError)))
	_, err = get(`echo '{"error":"invalid_grant"}'`)
	require.ErrorAs(t, err, new(*tool.TokenError))
}
