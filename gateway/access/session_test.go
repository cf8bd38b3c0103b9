package access

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// login returns the cookie of a new session, as a browser sends it.
func (b *bench) login(credential string) (cookie string, set *http.Cookie) {
	w := httptest.NewRecorder()
	_, refused := b.Login(w, request("POST", ""), credential)
	require.Nil(b, refused)
	set = w.Result().Cookies()[0]
	return set.Name + "=" + set.Value, set
}

// A page gets a session for a key: a cookie that scripts cannot read, that other sites do not send, and that does not tell the key.
func TestPageHasASession(t *testing.T) {
	secret, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+entry, Options{})
	cookie, set := b.login(" " + secret + "\n")
	require.Equal(t, "reagent_session", set.Name)
	require.True(t, set.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, set.SameSite)
	require.Equal(t, "/", set.Path)
	require.Equal(t, int(DefaultSessionLifetime/time.Second), set.MaxAge)
	require.NotContains(t, set.Value, secret[len(secretPrefix):])
	require.Equal(t, "key:alice by api key", b.ask("POST", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").Body.String())
	other, _ := b.login(secret)
	require.NotEqual(t, other, cookie)
	require.Equal(t, http.StatusUnauthorized, b.ask("GET", "", "Cookie", cookie, "Authorization", "Bearer wrong").Code, "a header counts more")

	w := httptest.NewRecorder()
	b.Logout(w)
	require.Negative(t, w.Result().Cookies()[0].MaxAge)
	require.Equal(t, set.Name, w.Result().Cookies()[0].Name)

	_, set = controlled(t, "keys:\n"+entry, Options{HTTPS: true}).login(secret)
	require.Equal(t, "__Host-reagent_session", set.Name)
	require.True(t, set.Secure)
}

// A session ends with its time, its key and its server's secret. A changed cookie is none.
func TestForgedAndOldSessionsAreRefused(t *testing.T) {
	secret, entry := made(t, "alice")
	unknown, unknowns := made(t, "bob")
	shared := Options{SessionSecret: []byte(strings.Repeat("s", 32))}
	b := controlled(t, "keys:\n"+entry, shared)
	replica := controlled(t, "keys:\n"+entry, shared)
	stranger := controlled(t, "keys:\n"+entry, Options{})
	cookie, _ := b.login(secret)
	status := func(b *bench, cookie string) int {
		b.clock.pass(time.Second)
		return b.ask("GET", "", "Cookie", cookie).Code
	}
	require.Equal(t, http.StatusOK, status(b, cookie))
	require.Equal(t, http.StatusOK, status(replica, cookie), "replicas share the secret")
	require.Equal(t, http.StatusUnauthorized, status(stranger, cookie))
	_, value, _ := strings.Cut(cookie, "=")
	for i := range value {
		flipped := []byte(value)
		flipped[i] = map[bool]byte{true: 'B', false: 'A'}[flipped[i] == 'A']
		_, ok := b.sessions.open(string(flipped), b.clock.now())
		require.False(t, ok, i)
		_, ok = b.sessions.open(value[:i], b.clock.now())
		require.False(t, ok, i)
	}
	require.Equal(t, http.StatusUnauthorized, status(b, cookie+"A"))

	w := httptest.NewRecorder()
	_, refused := b.Login(w, request("POST", ""), unknown)
	require.Equal(t, http.StatusUnauthorized, refused.Status)
	require.Empty(t, w.Result().Cookies())
	_, refused = b.Login(w, request("POST", ""), hashOf(secret).String())
	require.Equal(t, http.StatusUnauthorized, refused.Status, "the hash is no secret")
	_, refused = b.Login(w, request("GET", ""), secret)
	require.Equal(t, http.StatusMethodNotAllowed, refused.Status)

	b.write("keys:\n" + unknowns)
	require.Equal(t, http.StatusUnauthorized, status(b, cookie), "the key is removed")
	replica.clock.pass(DefaultSessionLifetime)
	require.Equal(t, http.StatusUnauthorized, status(replica, cookie), "the time is over")
}

// A page of another origin cannot use the session of the gateway's page, nor a server that asks for no key. A page of a listed origin can use the
// API with a key of its own.
func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	const listed, other = "https://chat.example.com", "https://evil.example.com"
	secret, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+entry, Options{Origins: []string{listed}})
	cookie, _ := b.login(secret)
	session := []string{"Cookie", cookie}
	open := controlled(t, "", Options{Origins: []string{listed}})
	for _, c := range []struct {
		b       *bench
		method  string
		headers []string
		status  int
		read    string // the origin that may read the answer
	}{
		{b, "POST", append(session, "Origin", "http://localhost"), 200, ""},
		{b, "POST", append(session, "Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"), 200, ""},
		{b, "POST", append(session, "Sec-Fetch-Site", "none"), 200, ""},
		{b, "POST", append(session, "Origin", other), 403, ""},
		{b, "POST", append(session, "Origin", other, "Sec-Fetch-Site", "cross-site"), 403, ""},
		{b, "POST", append(session, "Origin", "null"), 403, ""},
		{b, "POST", append(session, "Sec-Fetch-Site", "same-site"), 403, ""},
		{b, "DELETE", append(session, "Origin", other), 403, ""},
		{b, "POST", append(session, "Origin", listed, "Sec-Fetch-Site", "same-site"), 401, listed},
		{b, "POST", append(bearer(secret), "Origin", listed, "Sec-Fetch-Site", "cross-site"), 200, listed},
		{b, "POST", append(bearer(secret), "Origin", other, "Sec-Fetch-Site", "cross-site"), 403, ""},
		{b, "GET", append(bearer(secret), "Origin", other), 200, ""},
		{b, "GET", append(bearer(secret), "Origin", listed), 200, listed},
		{open, "POST", []string{"Origin", other}, 403, ""},
		{open, "POST", []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}, 403, ""},
		{open, "POST", []string{"Origin", listed, "Sec-Fetch-Site", "cross-site"}, 200, listed},
		{b, "OPTIONS", []string{"Origin", listed, "Access-Control-Request-Method", "POST"}, 204, listed},
		{b, "OPTIONS", []string{"Origin", other, "Access-Control-Request-Method", "POST"}, 401, ""},
	} {
		answer := c.b.ask(c.method, "", c.headers...)
		require.Equal(t, c.status, answer.Code, "%s %q: %s", c.method, c.headers, answer.Body)
		require.Equal(t, c.read, answer.Header().Get("Access-Control-Allow-Origin"), "%s %q", c.method, c.headers)
		require.Empty(t, answer.Header().Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "Origin", answer.Header().Get("Vary"))
	}
	preflight := b.ask("OPTIONS", "", "Origin", listed, "Access-Control-Request-Method", "POST")
	require.Equal(t, "Authorization, *", preflight.Header().Get("Access-Control-Allow-Headers"))

	w := httptest.NewRecorder()
	r := request("POST", "", "Origin", other)
	r.TLS = new(tls.ConnectionState)
	b.Public(whoami).ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code, "nor can it log somebody in")
	w = httptest.NewRecorder()
	b.Public(whoami).ServeHTTP(w, request("GET", ""))
	require.Equal(t, " by ", w.Body.String())
}
