package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/loopback"
	"github.com/reagent-dev/reagent/internal/origin"
)

// ErrOpen says that a server would talk to everyone who can reach it.
var ErrOpen = errors.New("everyone who can reach this address could use all agents: give an access file with keys or OIDC, or listen at 127.0.0.1")

// Options are the options of [New]. The zero Options accept the user of this machine only: see [Control.Authenticates].
type Options struct {
	// File is the path of the access file, which has the API keys and says which OIDC tokens are accepted. It is read again when it changes.
	File string
	// Origins are the origins of pages, such as https://chat.example.com, that may use the API with a key of their own. A page of the gateway
	// itself needs no entry.
	Origins []string
	// SessionSecret encrypts the cookies of the page. It has at least 32 random bytes, the same for all replicas. If it is empty, it is made at
	// random, and sessions end with the process.
	SessionSecret []byte
	// SessionLifetime is how long a session of the page lasts. Defaults to [DefaultSessionLifetime].
	SessionLifetime time.Duration
	// HTTPS says that browsers reach the server by HTTPS, through a proxy or directly. Then cookies are sent by HTTPS only.
	HTTPS bool
	// OnError answers a request that is refused. The status and the headers that belong to the error are the function's to write, except for
	// WWW-Authenticate and Retry-After, which are set. Defaults to the message as plain text.
	OnError func(w http.ResponseWriter, r *http.Request, e *Error)
	// Log receives an entry for each access file that cannot be read and for refused credentials. No entry has a secret. Defaults to
	// [slog.Default].
	Log *slog.Logger
}

// Control decides who may use a server. Create it with [New]. It is safe for concurrent use.
type Control struct {
	rules    *reloaded[rules] // nil: see Authenticates
	issuers  *issuers
	sessions *sessions
	https    bool
	origins  []string
	// cross refuses requests of pages of other origins. To sameOrigin, also those of Options.Origins are other origins.
	cross, sameOrigin *http.CrossOriginProtection
	callers           *rateLimits // by name
	failures          *rateLimits // by address
	running           *running
	onError           func(http.ResponseWriter, *http.Request, *Error)
	log               *slog.Logger
	now               func() time.Time
}

// New returns a Control. It returns an error if the access file or an option is not valid.
func New(o Options) (*Control, error) { return newControl(o, time.Now) }

func newControl(o Options, now func() time.Time) (*Control, error) {
	c := &Control{
		https: o.HTTPS, origins: o.Origins, cross: http.NewCrossOriginProtection(), sameOrigin: http.NewCrossOriginProtection(),
		callers: newRateLimits(), failures: newRateLimits(), onError: o.OnError, log: cmp.Or(o.Log, slog.Default()), now: now,
		issuers: newIssuers(now), running: newRunning(),
	}
	if c.onError == nil {
		c.onError = plainError
	}
	if err := origin.Check(o.Origins); err != nil {
		return nil, fmt.Errorf("the origin %w", err)
	}
	for _, each := range o.Origins {
		if err := c.cross.AddTrustedOrigin(each); err != nil {
			return nil, fmt.Errorf("the origin %q: %w", each, err)
		}
	}
	var err error
	if c.sessions, err = newSessions(o.SessionSecret, cmp.Or(o.SessionLifetime, DefaultSessionLifetime)); err != nil {
		return nil, err
	}
	if o.File == "" {
		return c, nil
	}
	c.rules = &reloaded[rules]{
		files: []string{o.File}, read: func() (rules, error) { return readRules(o.File) }, now: now,
		failed: func(err error) {
			c.log.Error("The changed access file cannot be used. The rules from before still hold.", "problem", err.Error())
		},
	}
	return c, c.rules.load()
}

// Authenticates reports whether requests must prove who sends them. If not, each request comes from the user of this machine, who may do
// everything, and the server may listen on this machine only: see [CheckListen].
func (c *Control) Authenticates() bool { return c.rules != nil }

// CheckListen returns [ErrOpen] if other machines can reach the address of a listener and requests do not prove who sends them.
func (c *Control) CheckListen(at net.Addr) error {
	if !c.Authenticates() && !loopback.Address(at) {
		return ErrOpen
	}
	return nil
}

// Handler returns a handler that passes on the requests of known callers, within their limits. `next` gets the caller from [FromContext], and
// asks [Caller.Require] and [Caller.Sees]. Other requests are refused with an [Error]. No header but Authorization and the session's cookie
// says anything about the caller.
func (c *Control) Handler(next http.Handler) http.Handler {
	return c.open(func(w http.ResponseWriter, r *http.Request) {
		p, refused := c.authenticate(r)
		if refused == nil {
			refused = c.take(p)
		}
		if refused == nil {
			refused = limitBody(w, r, p.limits.maxBody)
		}
		if refused == nil {
			refused = c.running.begin(p.caller.Name)
		}
		if refused != nil {
			c.Refuse(w, r, refused)
			return
		}
		defer c.running.end(p.caller.Name)
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), p.caller)))
	})
}

// Public returns a handler that also passes on the requests of unknown callers, such as those for the page that asks for a key. It refuses what
// [Control.Handler] refuses before it looks at the caller: pages of other origins, large bodies.
func (c *Control) Public(next http.Handler) http.Handler {
	return c.open(func(w http.ResponseWriter, r *http.Request) {
		if refused := limitBody(w, r, maxPublicBody); refused != nil {
			c.Refuse(w, r, refused)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// maxPublicBody is more than a form with a token has.
const maxPublicBody = 64 << 10

func (c *Control) open(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		listed := origin.Allow(w, r, c.origins)
		switch {
		case !c.Authenticates() && !loopback.Host(r.Host):
			// A page elsewhere has let its own name resolve to this machine, so the browser takes the page and the server for one origin.
			c.Refuse(w, r, &Error{
				Status: http.StatusMisdirectedRequest, Code: "unknown_host",
				Message: "without an access file, the server answers only at localhost, 127.0.0.1 and [::1]",
			})
		case listed && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "":
			// The star does not include Authorization.
			origin.Preflight(w, r, "GET, HEAD, POST, DELETE", "Authorization, *")
		case c.cross.Check(r) != nil:
			c.Refuse(w, r, &Error{
				Status: http.StatusForbidden, Code: "cross_origin",
				Message: "pages of this origin may not use the server; the operator can permit the origin",
			})
		default:
			if listed {
				w.Header().Set("Access-Control-Expose-Headers", "*")
			}
			next(w, r)
		}
	})
}

// proof is a caller whose identity is proved.
type proof struct {
	caller Caller
	limits limits
}

func (c *Control) authenticate(r *http.Request) (proof, *Error) {
	if !c.Authenticates() {
		return proof{local(), limits{maxBody: DefaultMaxBody}}, nil
	}
	p, refused := c.proved(r)
	// A page whose session has ended asks until somebody logs in again, and that is no wrong key.
	if refused != nil && refused.Status == http.StatusUnauthorized && len(r.Header.Values("Authorization")) > 0 {
		return proof{}, c.failed(r, refused)
	}
	return p, refused
}

func (c *Control) proved(r *http.Request) (proof, *Error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return c.inSession(r)
	}
	scheme, credential, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "bearer") {
		return proof{}, unauthorized("send one header `Authorization: Bearer` with the key or the token")
	}
	return c.prove(r.Context(), strings.TrimSpace(credential))
}

// prove finds the caller with a secret or a token.
func (c *Control) prove(ctx context.Context, credential string) (proof, *Error) {
	found := c.rules.get()
	switch {
	case isSecret(credential):
		return c.byHash(hashOf(credential))
	case found.oidc != nil:
		return c.issuers.prove(ctx, *found.oidc, credential)
	}
	return proof{}, invalid()
}

func (c *Control) byHash(h hash) (proof, *Error) {
	k, known := c.rules.get().keys[h]
	if !known || !k.expires.IsZero() && !c.now().Before(k.expires) {
		return proof{}, invalid()
	}
	return proof{k.caller, k.limits}, nil
}

// invalid is the same for every credential that proves nothing, so nobody learns which keys there are or were.
func invalid() *Error {
	return unauthorized("the key or the token is unknown or has expired; ask the operator for another one")
}

func unauthorized(message string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: message}
}
