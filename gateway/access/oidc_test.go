package access

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/testkit/signon"
)

// signOn returns a sign-on server, and the access file for its tokens with more fields.
func signOn(t *testing.T, more string) (p *signon.Provider, file string) {
	p = signon.NewProvider()
	t.Cleanup(p.Close)
	return p, "oidc: {issuer: '" + p.Issuer() + "', audience: reagent, agents: [shop], scopes: [talk, read]" + more + "}"
}

// token returns a token of alice. Nil removes a claim.
func (b *bench) token(p *signon.Provider, claims map[string]any) string {
	all := map[string]any{"iss": p.Issuer(), "aud": "reagent", "sub": "alice", "exp": b.clock.now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return p.Sign(all)
}

// A token of the issuer, for this audience and within its time, proves its subject. No other one does.
func TestOnlyTokensOfTheIssuerProveCallers(t *testing.T) {
	p, file := signOn(t, "")
	secret, entry := made(t, "alice")
	b := controlled(t, file+"\nkeys:\n"+entry, Options{})
	stranger := signon.NewProvider()
	t.Cleanup(stranger.Close)
	good := b.token(p, nil)
	require.Equal(t, p.Issuer()+"#alice by oidc "+p.Issuer(), b.ask("GET", "", bearer(good)...).Body.String())
	require.Equal(t, http.StatusOK, b.ask("GET", "", bearer(b.token(p, map[string]any{"aud": []string{"other", "reagent"}}))...).Code)
	require.Equal(t, "key:alice by api key", b.ask("GET", "", bearer(secret)...).Body.String(), "keys are accepted, too")

	head, body, signature := cut(t, good)
	encode := base64.RawURLEncoding.EncodeToString
	claims, err := json.Marshal(map[string]any{"iss": p.Issuer(), "aud": "reagent", "sub": "root", "exp": b.clock.now().Add(time.Hour).Unix()})
	require.NoError(t, err)
	before := p.Asked()
	for what, token := range map[string]string{
		"expired":                     b.token(p, map[string]any{"exp": b.clock.now().Add(-time.Second).Unix()}),
		"without an end":              b.token(p, map[string]any{"exp": nil}),
		"not yet valid":               b.token(p, map[string]any{"nbf": b.clock.now().Add(time.Hour).Unix()}),
		"for another audience":        b.token(p, map[string]any{"aud": "other"}),
		"for none":                    b.token(p, map[string]any{"aud": nil}),
		"of another issuer":           b.token(p, map[string]any{"iss": "https://evil.example.com"}),
		"without a subject":           b.token(p, map[string]any{"sub": nil}),
		"with a subject of two words": b.token(p, map[string]any{"sub": "alice bob"}),
		"with a long subject":         b.token(p, map[string]any{"sub": strings.Repeat("a", maxName)}),
		"signed by somebody else":     b.token(stranger, map[string]any{"iss": p.Issuer()}),
		"with other claims":           head + "." + encode(claims) + "." + signature,
		"without a signature":         encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + ".",
		"without a key":               encode([]byte(`{"alg":"HS256"}`)) + "." + encode(claims) + "." + signature,
		"cut":                         head + "." + body + ".",
		"no token":                    "a.b.c",
		"no token at all":             "alice",
	} {
		answer := b.ask("GET", "", bearer(token)...)
		require.Equal(t, http.StatusUnauthorized, answer.Code, what)
		require.NotContains(t, answer.Body.String()+b.log.String(), token, what)
		b.clock.pass(time.Second)
	}
	require.LessOrEqual(t, p.Asked()-before, askBurst, "forged tokens do not become requests without bound")
}

func cut(t *testing.T, token string) (head, body, signature string) {
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	return parts[0], parts[1], parts[2]
}

// A new key of the issuer is accepted without a restart, and the sign-on server is asked once for each key.
func TestIssuerReplacesItsKey(t *testing.T) {
	p, file := signOn(t, "")
	b := controlled(t, file, Options{})
	require.Zero(t, p.Asked(), "the issuer is asked when a token comes")
	for range 3 {
		require.Equal(t, http.StatusOK, b.ask("GET", "", bearer(b.token(p, nil))...).Code)
	}
	require.Equal(t, 2, p.Asked(), "its configuration and its keys")
	p.Rotate()
	b.eventually(b.token(p, nil))
	require.Equal(t, 3, p.Asked())
}

// The server starts while the issuer is down, and accepts tokens when it is up. Until then, a token is not called wrong.
func TestIssuerMayBeDown(t *testing.T) {
	p, file := signOn(t, "")
	b := controlled(t, file, Options{})
	down := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) }
	token := b.token(p, nil)
	p.Break(down)
	for range 3 {
		answer := b.ask("GET", "", bearer(token)...)
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Equal(t, "5", answer.Header().Get("Retry-After"))
	}
	require.Equal(t, 1, p.Asked(), "not with each request")
	p.Break(func(w http.ResponseWriter, r *http.Request) { // its keys cannot be read
		if r.URL.Path == "/keys" {
			down(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer":"` + p.Issuer() + `","jwks_uri":"` + p.Issuer() + `/keys","id_token_signing_alg_values_supported":["ES256"]}`))
	})
	b.clock.pass(askAgain)
	require.Equal(t, http.StatusServiceUnavailable, b.ask("GET", "", bearer(token)...).Code)
	require.Equal(t, http.StatusUnauthorized, b.ask("GET", "", bearer("no token")...).Code)
	p.Break(nil)
	b.eventually(token)
}

// eventually waits until a token is accepted. The library gives the answer about keys to those who ask for it, a moment before it asks again.
func (b *bench) eventually(token string) {
	require.Eventually(b, func() bool { return b.ask("GET", "", bearer(token)...).Code == http.StatusOK }, time.Minute, time.Millisecond)
}

// The caller has the scopes of the claim that the access file has, too, and an email address names it only if it is verified.
func TestClaimsNameTheCallerAndItsScopes(t *testing.T) {
	p, file := signOn(t, ", name_claim: email, scopes_claim: roles")
	b := controlled(t, file, Options{})
	for _, c := range []struct {
		claims map[string]any
		name   string
		scopes []Scope
	}{
		{map[string]any{"email_verified": true, "roles": "openid talk"}, "a@example.com", []Scope{Talk}},
		{map[string]any{"email_verified": "true", "roles": []string{"read", "approve", "talk"}}, "a@example.com", []Scope{Talk, Read}},
		{map[string]any{"email_verified": true, "roles": 7}, "a@example.com", nil},
		{map[string]any{"email_verified": true}, "a@example.com", nil},
		{map[string]any{"email_verified": false, "roles": "talk"}, "", nil},
		{map[string]any{"roles": "talk"}, "", nil},
		{map[string]any{"email": nil, "email_verified": true, "roles": "talk"}, "", nil},
		{map[string]any{"email": []string{"a@example.com"}, "email_verified": true}, "", nil},
	} {
		claims := map[string]any{"email": "a@example.com"}
		maps.Copy(claims, c.claims)
		found, refused := b.prove(t.Context(), b.token(p, claims))
		if c.name == "" {
			require.Equal(t, http.StatusUnauthorized, refused.Status, "%v", claims)
			continue
		}
		require.Nil(t, refused, "%v", claims)
		require.Equal(t, p.Issuer()+"#"+c.name, found.caller.Name)
		require.Equal(t, c.scopes, found.caller.Scopes, "%v", claims)
		require.Equal(t, []string{"shop"}, found.caller.Agents)
		require.False(t, found.caller.All)
	}
}

// A session of a token ends with the token. A token that fits into no cookie is refused.
func TestTokenBeginsASession(t *testing.T) {
	p, file := signOn(t, "")
	b := controlled(t, file, Options{})
	cookie, _ := b.login(b.token(p, nil))
	require.Equal(t, http.StatusOK, b.ask("GET", "", "Cookie", cookie).Code)
	b.clock.pass(time.Hour + time.Second)
	require.Equal(t, http.StatusUnauthorized, b.ask("GET", "", "Cookie", cookie).Code)
	_, refused := b.Login(nil, request("POST", ""), b.token(p, map[string]any{"groups": strings.Repeat("a", maxCookie)}))
	require.Equal(t, "token_too_long", refused.Code)
}
