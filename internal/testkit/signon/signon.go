// Package signon is an authorization server for tests. It exchanges the ID tokens of users for access tokens or for identity assertions (RFC 8693).
// It is also the authorization server of an MCP server, which gives an access token for an identity assertion (RFC 7523). It refuses what these
// RFCs refuse.
package signon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// These are the credentials of the worker for both endpoints, and what it may ask for.
const (
	ClientID = "worker"
	// Secret is the secret at [Server.Login]; GrantSecret is that at [Server.Grant].
	Secret      = "sec-login-30a8c2b7741e9d65" //nolint:gosec // for tests
	GrantSecret = "sec-grant-e27d9041ab53c86f" //nolint:gosec // for tests
	// Audience is the name of the MCP server at Login, for access tokens. For identity assertions, it is Issuer.
	Audience = "till"
	Issuer   = "https://auth.till.example.com"
	// Resource is the URL of the MCP server.
	Resource = "https://till.example.com/mcp"
	Scope    = "receipts.read"
)

const (
	tokenTypes = "urn:ietf:params:oauth:token-type:" //nolint:gosec // the beginning of a name
	grantTypes = "urn:ietf:params:oauth:grant-type:"
)

// grant is what the server knows about a token.
type grant struct {
	user, kind string // the kind is id, assertion or access
	expired    bool
}

// Server is the authorization server.
type Server struct {
	login, grant *httptest.Server

	mu     sync.Mutex
	tokens map[string]*grant
	broken http.HandlerFunc
	asked  int
}

// New starts a server.
func New() *Server {
	s := &Server{tokens: map[string]*grant{}}
	s.login = httptest.NewServer(s.endpoint(Secret, grantTypes+"token-exchange", s.exchange))
	s.grant = httptest.NewServer(s.endpoint(GrantSecret, grantTypes+"jwt-bearer", s.redeem))
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.login.Close()
	s.grant.Close()
}

// Login returns the URL of the token endpoint that knows the users. No error may have the query of this URL.
func (s *Server) Login() string { return s.login.URL + "/token?tenant=hidden" }

// Grant returns the URL of the token endpoint of the MCP server's own authorization server.
func (s *Server) Grant() string { return s.grant.URL + "/token" }

// SignIn returns a new ID token of a user.
func (s *Server) SignIn(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issue(user, "id")
}

// Expire lets all tokens of a kind expire: id, assertion or access.
func (s *Server) Expire(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.tokens {
		g.expired = g.expired || g.kind == kind
	}
}

// Break lets a handler answer in place of both endpoints; nil lets them answer again.
func (s *Server) Break(broken http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// Asked returns the number of requests for tokens.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Tokens returns all tokens of a kind that were issued.
func (s *Server) Tokens(kind string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, g := range s.tokens {
		if g.kind == kind {
			all = append(all, token)
		}
	}
	return all
}

// Verify is the [auth.TokenVerifier] of the MCP server.
func (s *Server) Verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.tokens[token]
	if g == nil || g.kind != "access" || g.expired {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: g.user, Expiration: time.Now().Add(time.Hour)}, nil
}

// issue makes a token of a kind for a user. The caller must hold s.mu.
func (s *Server) issue(user, kind string) string {
	token := fmt.Sprintf("tok-%s-%s-%s", kind, user, rand.Text())
	s.tokens[token] = &grant{user: user, kind: kind}
	return token
}

// refusal is an error answer of a token endpoint.
type refusal struct {
	status int
	code   string
}

// endpoint returns a token endpoint for one client and one type of grant.
func (s *Server) endpoint(secret, grantType string, give func(form url.Values) (map[string]any, *refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked++
		if s.broken != nil {
			s.broken(w, r)
			return
		}
		var answer map[string]any
		var refused *refusal
		id, password, basic := r.BasicAuth()
		if !basic {
			id, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
		case r.Method != http.MethodPost || kind != "application/x-www-form-urlencoded" || r.URL.Path != "/token":
			refused = &refusal{http.StatusBadRequest, "invalid_request"}
		case id != ClientID || password != secret:
			refused = &refusal{http.StatusUnauthorized, "invalid_client"}
		case r.PostFormValue("grant_type") != grantType:
			refused = &refusal{http.StatusBadRequest, "unsupported_grant_type"}
		default:
			answer, refused = give(r.PostForm)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if refused != nil {
			w.WriteHeader(refused.status)
			// Servers quote what they refuse.
			answer = map[string]any{"error": refused.code, "error_description": "not good: " + r.PostForm.Encode()}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// exchange answers a token exchange (RFC 8693).
func (s *Server) exchange(form url.Values) (map[string]any, *refusal) {
	assertion := form.Get("requested_token_type") == tokenTypes+"id-jag"
	audience := Audience
	if assertion {
		audience = Issuer
	}
	subject := s.tokens[form.Get("subject_token")]
	switch {
	case form.Get("subject_token_type") != tokenTypes+"id_token", subject == nil, subject.kind != "id", subject.expired,
		!assertion && form.Get("requested_token_type") != tokenTypes+"access_token":
		return nil, &refusal{http.StatusBadRequest, "invalid_request"} // section 2.2.2
	case form.Get("audience") != audience || form.Get("resource") != Resource:
		return nil, &refusal{http.StatusBadRequest, "invalid_target"}
	case form.Get("scope") != Scope:
		return nil, &refusal{http.StatusBadRequest, "invalid_scope"}
	case assertion:
		return map[string]any{
			"issued_token_type": tokenTypes + "id-jag", "access_token": s.issue(subject.user, "assertion"), "token_type": "N_A", "expires_in": 300,
		}, nil
	}
	return s.access(subject.user, map[string]any{"issued_token_type": tokenTypes + "access_token"}), nil
}

// redeem gives an access token for an identity assertion (RFC 7523). It accepts each assertion once.
func (s *Server) redeem(form url.Values) (map[string]any, *refusal) {
	g := s.tokens[form.Get("assertion")]
	if g == nil || g.kind != "assertion" || g.expired {
		return nil, &refusal{http.StatusBadRequest, "invalid_grant"}
	}
	g.expired = true
	return s.access(g.user, map[string]any{}), nil
}

func (s *Server) access(user string, answer map[string]any) map[string]any {
	answer["access_token"], answer["token_type"], answer["expires_in"] = s.issue(user, "access"), "Bearer", 3600
	return answer
}

// Secrets returns the secrets of the worker and all tokens.
func (s *Server) Secrets() []string {
	all := []string{Secret, GrantSecret}
	for _, kind := range []string{"id", "assertion", "access"} {
		all = append(all, s.Tokens(kind)...)
	}
	return all
}

// Quotes reports whether a text has a secret, or the query of the URL of Login.
func (s *Server) Quotes(text string) bool {
	for _, secret := range s.Secrets() {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return strings.Contains(text, "hidden")
}
