package access

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An access file has what its caller gets; what is not said has its default.
func TestAccessFileIsRead(t *testing.T) {
	secret, entry := made(t, "alice")
	found, err := parseRules([]byte(`keys:
  ` + entry + `
  - name: ops@example.com
    hash: sha256:` + strings.Repeat("0F", 32) + `
    agents: ["*"]
    scopes: [approve]
    all: true
    requests_per_minute: 60
    max_body: 2MB
    expires: 2027-01-31
oidc: {issuer: "https://login.example.com", audience: reagent, name_claim: email, scopes_claim: roles, agents: [shop], scopes: [talk], max_body: 500KB}
`))
	require.NoError(t, err)
	require.Equal(t, key{
		caller: Caller{Name: "key:alice", ProvedBy: "api key", Grant: Grant{Agents: []string{"shop", "support-*"}, Scopes: []Scope{Talk, Read}}},
		limits: limits{600, 8 << 20},
	}, found.keys[hashOf(secret)])
	var h hash
	for i := range h {
		h[i] = 0x0f
	}
	require.Equal(t, key{
		caller: Caller{Name: "key:ops@example.com", ProvedBy: "api key", Grant: Grant{Agents: []string{"*"}, Scopes: []Scope{Approve}, All: true}},
		limits: limits{60, 2 << 20}, expires: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
	}, found.keys[h])
	require.Equal(t, &oidcRule{
		issuer: "https://login.example.com", audience: "reagent", nameClaim: "email", scopesClaim: "roles",
		grant: Grant{Agents: []string{"shop"}, Scopes: []Scope{Talk}}, limits: limits{600, 500 << 10},
	}, found.oidc)
}

// The access file of the documentation is valid.
func TestDocumentedAccessFileIsValid(t *testing.T) {
	found, err := readRules("testdata/access.yaml")
	require.NoError(t, err)
	require.Len(t, found.keys, 2)
	require.NotNil(t, found.oidc)
}

// A mistake in an access file is told with its line and its field, and never with a secret.
func TestMistakesInAccessFilesNameTheField(t *testing.T) {
	secret, _ := made(t, "alice")
	h := hashOf(secret).String()
	entry := "{name: a, hash: '" + h + "', agents: [shop], scopes: [talk]}"
	base := "keys: [" + entry + "]"
	for text, want := range map[string]string{
		"":                               "it is empty",
		"keys: []":                       "it lets nobody in",
		"keys: {a: b}":                   "line 1: keys must be a list",
		"- a":                            "line 1: the file must be a mapping",
		"keys: [\n" + secret + ": : :":   "it is not YAML: see line ",
		"kes: []":                        "line 1: the file has the unknown field kes",
		secret + ": []":                  "line 1: the file has an unknown field",
		"keys: [a]":                      "line 1: keys[0] must be a mapping",
		"keys: []\nkeys: []":             "line 2: the file has the field keys twice",
		"keys: &k []\noidc: *k":          "line 2: oidc must be a mapping",
		"keys:\n- {name: a}":             "line 2: keys[0].hash is missing",
		"oidc: {audience: x}":            "line 1: oidc.issuer is missing",
		"oidc: {issuer: 'https://x.io'}": "line 1: oidc.audience is missing",
		"oidc: {issuer: 'http://x.io', audience: x}":                                     "line 1: oidc.issuer must be the https URL",
		"oidc: {issuer: 'https://x.io', audience: x, agents: [a]}":                       "line 1: oidc.scopes is empty",
		"oidc: {issuer: 'https://x.io', audience: [x]}":                                  "line 1: oidc.audience must be a text",
		strings.Replace(base, "name: a", "name: ''", 1):                                  "keys[0].name must be a name",
		strings.Replace(base, "name: a, ", "", 1):                                        "keys[0].name is missing",
		strings.Replace(base, "name: a", "name: "+secret, 1):                             "keys[0].name must be a name",
		strings.Replace(base, h, secret, 1):                                              "keys[0].hash must be sha256: and 64 digits",
		strings.Replace(base, h, h[:70], 1):                                              "keys[0].hash must be sha256: and 64 digits",
		strings.Replace(base, "[shop]", "shop", 1):                                       "keys[0].agents must be a list",
		strings.Replace(base, "[shop]", "[]", 1):                                         "keys[0].agents is empty",
		strings.Replace(base, "agents: [shop], ", "", 1):                                 "keys[0].agents is empty",
		strings.Replace(base, "[shop]", "['[a']", 1):                                     `keys[0].agents has "[a"`,
		strings.Replace(base, "[shop]", "["+secret+"]", 1):                               "keys[0].agents must be a list of texts",
		strings.Replace(base, "[talk]", "[write]", 1):                                    `keys[0].scopes has "write": write talk, read or approve`,
		strings.Replace(base, "}]", ", all: yes please}]", 1):                            "keys[0].all must be true or false",
		strings.Replace(base, "}]", ", al: true}]", 1):                                   "keys[0] has the unknown field al",
		strings.Replace(base, "}]", ", requests_per_minute: 0}]", 1):                     "keys[0].requests_per_minute must be a number",
		strings.Replace(base, "}]", ", max_body: 2 GB}]", 1):                             "keys[0].max_body must be a size",
		strings.Replace(base, "}]", ", max_body: 0}]", 1):                                "keys[0].max_body must be a size",
		strings.Replace(base, "}]", ", expires: soon}]", 1):                              "keys[0].expires must be a day",
		strings.Replace(base, "}]", ", expires: '"+secret+"'}]", 1):                      "keys[0].expires must be a day",
		"keys: [" + entry + ", " + entry + "]":                                           "keys[1].name is that of another key",
		"keys: [" + entry + ", " + strings.Replace(entry, "name: a", "name: b", 1) + "]": "keys[1].hash is that of key:a, too",
	} {
		_, err := parseRules([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), secret[len(secretPrefix):], text)
	}
	_, _, err := NewKey("a b", Grant{Agents: []string{"*"}, Scopes: []Scope{Talk}})
	require.ErrorContains(t, err, `the name of the key is "a b"`)
	for _, g := range []Grant{{}, {Agents: []string{"*"}}, {Agents: []string{"it's"}, Scopes: []Scope{Talk}}, {Agents: []string{"*"}, Scopes: []Scope{"x"}}} {
		_, _, err := NewKey("a", g)
		require.Error(t, err)
	}
}

// A changed access file holds without a restart: new keys are accepted, removed ones are refused. One that cannot be read changes nothing and is
// logged once.
func TestChangedAccessFileHolds(t *testing.T) {
	secret, entry := made(t, "alice")
	bob, bobs := made(t, "bob")
	b := controlled(t, "keys:\n"+entry, Options{})
	status := func(secret string) int {
		b.clock.pass(reloadEvery)
		return b.ask("GET", "", bearer(secret)...).Code
	}
	require.Equal(t, []int{200, 401}, []int{status(secret), status(bob)})
	b.write("keys:\n" + entry + "\n" + bobs)
	require.Equal(t, []int{200, 200}, []int{status(secret), status(bob)})
	b.write("keys:\n" + bobs)
	require.Equal(t, []int{401, 200}, []int{status(secret), status(bob)})
	b.write("keys: " + bob)
	b.log.Reset()
	require.Equal(t, []int{401, 200}, []int{status(secret), status(bob)})
	require.Equal(t, 1, strings.Count(b.log.String(), "The changed access file cannot be used"))
	require.Contains(t, b.log.String(), "line 1: keys must be a list")
	require.NotContains(t, b.log.String(), bob)
	require.NoError(t, os.Remove(b.file))
	require.Equal(t, []int{401, 200}, []int{status(secret), status(bob)})
	require.Equal(t, 2, strings.Count(b.log.String(), "The changed access file cannot be used"))
	b.write("keys:\n" + entry)
	require.Equal(t, []int{200, 401}, []int{status(secret), status(bob)})
}

// An access file that cannot be read at the start is an error.
func TestServerDoesNotStartWithoutItsAccessFile(t *testing.T) {
	_, err := New(Options{File: t.TempDir() + "/missing.yaml"})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = New(Options{SessionSecret: []byte("short")})
	require.ErrorContains(t, err, "the session secret is too short")
	_, err = New(Options{Origins: []string{"https://example.com/"}})
	require.ErrorContains(t, err, "is not the origin of a page")
}

// A key is accepted until its day begins, and its refusal is that of an unknown key.
func TestExpiredKeyIsUnknown(t *testing.T) {
	secret, entry := made(t, "alice")
	unknown, _ := made(t, "alice")
	b := controlled(t, "keys:\n"+strings.TrimSuffix(entry, "}")+", expires: 2026-06-02}", Options{})
	b.clock.pass(12*time.Hour - time.Second)
	require.Equal(t, http.StatusOK, b.ask("GET", "", bearer(secret)...).Code)
	b.clock.pass(time.Second)
	expired, never := b.ask("GET", "", bearer(secret)...), b.ask("GET", "", bearer(unknown)...)
	require.Equal(t, http.StatusUnauthorized, expired.Code)
	require.Equal(t, never.Body.String(), expired.Body.String())
	require.Equal(t, never.Header(), expired.Header())
}
