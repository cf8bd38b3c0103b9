package signon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// Provider is an OpenID provider: it tells its configuration and its public keys, and signs tokens. Create it with [NewProvider].
type Provider struct {
	server *httptest.Server

	mu     sync.Mutex
	key    jose.JSONWebKey
	broken http.HandlerFunc
	asked  int
}

// NewProvider starts a provider.
func NewProvider() *Provider {
	p := new(Provider)
	p.Rotate()
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// Close stops the provider.
func (p *Provider) Close() { p.server.Close() }

// Issuer returns the URL of the provider, which is the claim iss of its tokens.
func (p *Provider) Issuer() string { return p.server.URL }

// Rotate replaces the key that signs.
func (p *Provider) Rotate() {
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = jose.JSONWebKey{Key: made, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

// Break lets a handler answer in place of the provider; nil lets it answer again.
func (p *Provider) Break(broken http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// Asked returns the number of requests.
func (p *Provider) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Sign returns a token with these claims.
func (p *Provider) Sign(claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, nil)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.broken != nil {
		p.broken(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.server.URL, "jwks_uri": p.server.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.key.Public()}})
	default:
		http.NotFound(w, r)
	}
}
