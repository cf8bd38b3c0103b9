package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.yaml.in/yaml/v3"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/internal/loopback"
)

const (
	// askTimeout limits a request to the issuer.
	askTimeout = 10 * time.Second
	// askAgain is the time between two tries to discover an issuer that does not answer.
	askAgain = 5 * time.Second
	// maxIssuerAnswer limits an answer of the issuer, in bytes.
	maxIssuerAnswer = 1 << 20
	// asksPerMinute limits the requests to the issuer. A token with an unknown key ID makes one, and everyone can send such tokens.
	asksPerMinute = 30
	// askBurst is enough to discover an issuer and to learn a new key.
	askBurst = 10
	maxName  = 200 // as in an agent's transcript
)

// oidcRule says which tokens are accepted, and what their callers may do.
type oidcRule struct {
	issuer, audience string
	// nameClaim is the claim that names the caller: see callerName.
	nameClaim string
	// scopesClaim is the claim with the scopes of the caller. The caller has those of them that the grant has, too. Empty means all of the grant.
	scopesClaim string
	grant       Grant
	limits      limits
}

func readOIDC(n *yaml.Node) (*oidcRule, error) {
	rule := &oidcRule{nameClaim: "sub", limits: defaultLimits()}
	text := func(field string, into *string) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || n.Value == "" {
				return at(n, "oidc."+field, "must be a text")
			}
			*into = n.Value
			return nil
		}
	}
	err := mapping("oidc", n, fields{
		"issuer":       text("issuer", &rule.issuer),
		"audience":     text("audience", &rule.audience),
		"name_claim":   text("name_claim", &rule.nameClaim),
		"scopes_claim": text("scopes_claim", &rule.scopesClaim),
	}.with(grantFields("oidc", &rule.grant)).with(limitFields("oidc", &rule.limits)))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(rule.issuer)
	switch {
	case rule.issuer == "":
		return nil, at(n, "oidc.issuer", "is missing")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
		u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Host)):
		return nil, at(n, "oidc.issuer", "must be the https URL of the sign-on server, as it stands in the claim iss of its tokens")
	case rule.audience == "":
		return nil, at(n, "oidc.audience", "is missing: without it, tokens for other services would be accepted")
	}
	return rule, checkGrant(n, "oidc", rule.grant)
}

// issuers proves callers by tokens. It knows the last issuer of the access file.
type issuers struct {
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	issuer string
	keys   *oidc.RemoteKeySet // nil until the issuer has been discovered
	algs   []string
	failed time.Time // when it could not be discovered
}

func newIssuers(now func() time.Time) *issuers {
	return &issuers{now: now, client: &http.Client{
		Timeout: askTimeout, Transport: issuerTransport{http.DefaultTransport, rate.NewLimiter(rate.Limit(asksPerMinute/60.0), askBurst)},
	}}
}

// prove finds the caller with a token.
func (i *issuers) prove(ctx context.Context, rule oidcRule, token string) (proof, *Error) {
	if strings.Count(token, ".") != 2 { // no JWT, so the issuer need not be asked
		return proof{}, invalid()
	}
	keys, algs, err := i.discover(ctx, rule.issuer)
	if err != nil {
		return proof{}, unavailable()
	}
	asked := &askedKeys{KeySet: keys}
	verified, err := oidc.NewVerifier(rule.issuer, asked, &oidc.Config{ClientID: rule.audience, SupportedSigningAlgs: algs, Now: i.now}).Verify(ctx, token)
	switch {
	case err != nil && asked.unreachable:
		return proof{}, unavailable()
	case err != nil:
		return proof{}, invalid()
	}
	claims := map[string]json.RawMessage{}
	if err := verified.Claims(&claims); err != nil {
		return proof{}, invalid()
	}
	name, ok := callerName(claims, rule.nameClaim)
	name = rule.issuer + "#" + name
	if !ok || len(name) > maxName {
		return proof{}, unauthorized(fmt.Sprintf("the token has no claim %q that names a caller", rule.nameClaim))
	}
	p := proof{Caller{Name: name, ProvedBy: "oidc " + rule.issuer, Grant: rule.grant}, rule.limits}
	if rule.scopesClaim != "" {
		named := words(claims[rule.scopesClaim])
		p.caller.Scopes = nil
		for _, s := range rule.grant.Scopes {
			if slices.Contains(named, string(s)) {
				p.caller.Scopes = append(p.caller.Scopes, s)
			}
		}
	}
	return p, nil
}

// discover asks the issuer where its keys are. It asks when the first token comes, so that the server starts while the issuer is down, and again
// after a failure.
func (i *issuers) discover(ctx context.Context, issuer string) (*oidc.RemoteKeySet, []string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.issuer != issuer:
		i.issuer, i.keys, i.failed = issuer, nil, time.Time{}
	case i.keys != nil:
		return i.keys, i.algs, nil
	case i.now().Sub(i.failed) < askAgain: // of many requests that waited for the lock, one asks
		return nil, nil, errors.New("the sign-on server did not answer a moment ago")
	}
	// The client limits the time. Another request may need the answer, too, so this one's end does not cancel it.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), i.client)
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		i.failed = i.now()
		return nil, nil, err
	}
	var told struct {
		Keys string   `json:"jwks_uri"`
		Algs []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&told); err != nil {
		return nil, nil, err
	}
	// Never HS256, for which the public key would be the secret, nor none.
	i.algs = slices.DeleteFunc(told.Algs, func(alg string) bool { return !signatures.MatchString(alg) })
	i.keys = oidc.NewRemoteKeySet(ctx, told.Keys)
	return i.keys, i.algs, nil
}

var signatures = regexp.MustCompile(`^([RPE]S(256|384|512)|EdDSA)$`)

// askedKeys notes whether the keys of the issuer could not be read. The error of the verifier does not tell it.
type askedKeys struct {
	oidc.KeySet
	unreachable bool
}

func (k *askedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	k.unreachable = errors.As(err, new(*url.Error)) || ctx.Err() != nil
	return payload, err
}

func unavailable() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: "sign_on_unavailable", RetryAfter: askAgain,
		Message: "the sign-on server does not answer, so the token cannot be checked; send the request again",
	}
}

// issuerTransport bounds the requests to the issuer, and their answers.
type issuerTransport struct {
	http.RoundTripper
	limiter *rate.Limiter
}

func (t issuerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limiter.Allow() {
		return nil, errors.New("too many requests to the sign-on server")
	}
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxIssuerAnswer))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// callerName returns the claim that names the caller. An email address counts only if the issuer has verified it: elsewhere, people write the
// address of somebody else.
func callerName(claims map[string]json.RawMessage, claim string) (string, bool) {
	if claim == "email" && strings.Trim(string(claims["email_verified"]), `"`) != "true" {
		return "", false
	}
	var name string
	err := json.Unmarshal(claims[claim], &name)
	return name, err == nil && printable.MatchString(name)
}

var printable = regexp.MustCompile(`^[\x21-\x7e]+$`)

// words returns the words of a claim: a text with spaces between them, as in OAuth, or a list.
func words(claim json.RawMessage) (all []string) {
	var text string
	if json.Unmarshal(claim, &text) == nil {
		return strings.Fields(text)
	}
	_ = json.Unmarshal(claim, &all) // what is no list names no scope
	return all
}
