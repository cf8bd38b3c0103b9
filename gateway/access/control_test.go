package access

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a clock that stands.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bench has a Control with an access file, and what it logs.
type bench struct {
	*testing.T
	*Control
	clock *clock
	file  string
	log   *bytes.Buffer
}

// controlled returns a Control. Without an access file, it does not authenticate.
func controlled(t *testing.T, file string, o Options) *bench {
	b := &bench{T: t, clock: &clock{at: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}, log: new(bytes.Buffer)}
	o.Log = slog.New(slog.NewTextHandler(b.log, nil))
	if file != "" {
		b.file = filepath.Join(t.TempDir(), "access.yaml")
		b.write(file)
		o.File = b.file
	}
	var err error
	b.Control, err = newControl(o, b.clock.now)
	require.NoError(t, err)
	return b
}

// write replaces the access file, as editors and Kubernetes do.
func (b *bench) write(text string) {
	require.NoError(b, os.WriteFile(b.file+".new", []byte(text), 0o600))
	require.NoError(b, os.Rename(b.file+".new", b.file))
}

// whoami answers with the caller.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		refused := ReadError(err)
		http.Error(w, refused.Code, refused.Status)
		return
	}
	c := FromContext(r.Context())
	fmt.Fprintf(w, "%s by %s", c.Name, c.ProvedBy)
})

// request makes a request with headers.
func request(method, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://localhost/v1/models", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// ask sends a request to the handler.
func (b *bench) ask(method, body string, headers ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.Handler(whoami).ServeHTTP(w, request(method, body, headers...))
	return w
}

// made returns a secret and the entry of the access file for it.
func made(t *testing.T, name string) (secret, entry string) {
	secret, entry, err := NewKey(name, Grant{Agents: []string{"shop", "support-*"}, Scopes: []Scope{Talk, Read}})
	require.NoError(t, err)
	return secret, entry
}

func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// A caller has the name of its key, and nothing but the secret proves it.
func TestOnlyTheSecretOfAKeyProvesItsCaller(t *testing.T) {
	secret, entry := made(t, "alice")
	other, _ := made(t, "alice")
	b := controlled(t, "keys:\n"+entry+"\n", Options{})
	require.True(t, b.Authenticates())
	for _, header := range []string{"Bearer " + secret, "bearer  " + secret + " "} {
		answer := b.ask("GET", "", "Authorization", header)
		require.Equal(t, http.StatusOK, answer.Code)
		require.Equal(t, "key:alice by api key", answer.Body.String())
	}
	h := hashOf(secret).String()
	for _, headers := range [][]string{
		nil, {"Authorization", secret}, {"Authorization", "Basic " + secret}, {"Authorization", "Bearer"}, bearer(""), bearer("rg_"), bearer(other),
		bearer(secret + "A"), bearer(secret[:len(secret)-1]), bearer(strings.ToUpper(secret)), bearer(h), bearer(strings.TrimPrefix(h, hashPrefix)),
		append(bearer(secret), bearer(other)...), append(bearer(secret), bearer(secret)...),
		{"X-Api-Key", secret}, {"X-User", "alice"}, {"X-Forwarded-User", "key:alice"}, {"X-Remote-User", "alice"}, {"From", "key:alice"},
		{"X-Forwarded-For", "127.0.0.1"}, {"Forwarded", "for=127.0.0.1"}, {"Host", "localhost"}, {"Proxy-Authorization", "Bearer " + secret},
		{"Cookie", "reagent_session=" + secret}, {"Cookie", "reagent_session=" + h}, {"Cookie", "reagent_session="},
	} {
		answer := b.ask("GET", "", headers...)
		require.Equal(t, http.StatusUnauthorized, answer.Code, "%q", headers)
		require.Equal(t, `Bearer realm="reagent"`, answer.Header().Get("WWW-Authenticate"))
		told := answer.Body.String() + fmt.Sprint(answer.Header()) + b.log.String()
		require.NotContains(t, told, secret[len(secretPrefix):len(secret)-1])
		require.NotContains(t, told, h[len(hashPrefix):])
		b.clock.pass(time.Minute) // the number of failures is another test's
	}
}

// A key permits what stands in the access file: scopes and agents, which may be patterns.
func TestKeyPermitsItsScopesForItsAgents(t *testing.T) {
	secret, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+entry+"\n", Options{})
	p, refused := b.prove(t.Context(), secret)
	require.Nil(t, refused)
	for scope, agents := range map[Scope]map[string]bool{
		Talk:    {"shop": true, "support-de": true, "support-": true, "support": false, "shopping": false, "Shop": false, "": false, "*": false},
		Read:    {"shop": true, "support-de": true, "other": false},
		Approve: {"shop": false, "support-de": false, "other": false},
		"":      {"shop": false},
		"all":   {"shop": false},
	} {
		for agent, want := range agents {
			require.Equal(t, want, p.caller.May(scope, agent), "%s %s", scope, agent)
			refused := p.caller.Require(scope, agent)
			require.Equal(t, want, refused == nil)
			if refused != nil {
				require.Equal(t, http.StatusForbidden, refused.Status)
				require.Contains(t, refused.Message, agent)
			}
		}
	}
	require.True(t, p.caller.Sees("key:alice"))
	require.False(t, p.caller.Sees("key:bob"))
	require.False(t, p.caller.Sees(""))
	nobody := FromContext(t.Context())
	require.False(t, nobody.May(Read, "shop"))
	require.False(t, nobody.Sees("key:alice"))
	require.False(t, nobody.Sees(""), "what has no owner")
}

// Without an access file, the user of this machine may do everything, and nobody else may anything: the server listens on this machine only, and
// answers no page whose name resolves to it.
func TestWithoutAnAccessFileOnlyThisMachineIsAnswered(t *testing.T) {
	b := controlled(t, "", Options{})
	require.False(t, b.Authenticates())
	for _, host := range []string{"localhost:8080", "127.0.0.1", "[::1]:8080"} {
		answer := b.ask("POST", "{}", append(bearer("unused"), "Host", host)...)
		require.Equal(t, http.StatusOK, answer.Code, host)
		require.Equal(t, " by ", answer.Body.String())
	}
	for _, host := range []string{"evil.example.com", "localhost.evil.example.com:8080", "127.0.0.1.nip.io", "10.0.0.1", ""} {
		answer := b.ask("GET", "", "Host", host, "X-Forwarded-Host", "localhost")
		require.Equal(t, http.StatusMisdirectedRequest, answer.Code, host)
	}
	c := local()
	require.True(t, c.May(Approve, "any"))
	require.True(t, c.Sees("key:alice"))
	require.NoError(t, b.CheckListen(&net.TCPAddr{IP: net.IPv6loopback}))
	require.ErrorIs(t, b.CheckListen(&net.TCPAddr{IP: net.IPv4zero}), ErrOpen)
	_, entry := made(t, "alice")
	require.NoError(t, controlled(t, "keys:\n"+entry, Options{}).CheckListen(&net.TCPAddr{IP: net.IPv4zero}))
}
