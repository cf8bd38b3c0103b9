package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"time"
)

// DefaultSessionLifetime is the default of [Options.SessionLifetime].
const DefaultSessionLifetime = 12 * time.Hour

const (
	minSessionSecret = 32
	// sessionUse keeps the key for cookies apart from other keys that might come from the same secret.
	sessionUse = "reagent gateway session 1"
	// maxCookie is the largest cookie that browsers keep, less its name and attributes.
	maxCookie = 3800
)

// sessions seals the cookies of the page. A cookie has what a caller has proved itself with: the hash of a key's secret, or a token. So a
// session ends when the key is removed or expires, and the server keeps nothing.
type sessions struct {
	aead     cipher.AEAD
	lifetime time.Duration
}

func newSessions(secret []byte, lifetime time.Duration) (*sessions, error) {
	switch {
	case len(secret) == 0:
		secret = make([]byte, minSessionSecret)
		_, _ = rand.Read(secret) // it never fails
	case len(secret) < minSessionSecret:
		return nil, errors.New("the session secret is too short: write at least 32 random bytes, such as the output of `openssl rand -hex 32`")
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, sessionUse, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sessions{aead, lifetime}, err
}

func (s *sessions) seal(proof string, until time.Time) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	sealed := s.aead.Seal(nil, nil, append(plain, proof...), []byte(sessionUse)) //nolint:gosec // the cipher makes the nonce
	return base64.RawURLEncoding.EncodeToString(sealed)
}

func (s *sessions) open(sealed string, now time.Time) (proof string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return "", false
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(sessionUse))
	if err != nil || len(plain) < 8 || now.Unix() >= int64(binary.BigEndian.Uint64(plain)) {
		return "", false
	}
	return string(plain[8:]), true
}

// cookie returns the session's cookie with a value. With HTTPS, browsers accept a name with __Host- only by HTTPS and from this very host.
func (c *Control) cookie(value string) *http.Cookie {
	name := "reagent_session"
	if c.https {
		name = "__Host-" + name
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.https} //nolint:gosec // without HTTPS, a browser would not send it
}

// Login begins a session of the page for the caller with a key's secret or a token: it sets a cookie. The request is a POST that has passed
// [Control.Public]. Without an access file, no session is needed, and Login sets none.
func (c *Control) Login(w http.ResponseWriter, r *http.Request, credential string) (Caller, *Error) {
	if r.Method != http.MethodPost {
		return Caller{}, &Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "send the key in a POST request"}
	}
	if !c.Authenticates() {
		return local(), nil
	}
	credential = strings.TrimSpace(credential)
	p, refused := c.prove(r.Context(), credential)
	switch {
	case refused != nil && refused.Status == http.StatusUnauthorized:
		return Caller{}, c.failed(r, refused)
	case refused != nil:
		return Caller{}, refused
	case isSecret(credential):
		credential = hashOf(credential).String()
	}
	cookie := c.cookie(c.sessions.seal(credential, c.now().Add(c.sessions.lifetime))) //nolint:gosec // see there
	if len(cookie.Value) > maxCookie {
		return Caller{}, &Error{
			Status: http.StatusBadRequest, Code: "token_too_long", Message: "the token is too long for a cookie; use an API key, or a token with fewer claims",
		}
	}
	cookie.MaxAge = int(c.sessions.lifetime / time.Second)
	http.SetCookie(w, cookie)
	return p.caller, nil
}

// Logout ends the session of the page: it removes the cookie from the browser. The request is a POST that has passed [Control.Public].
func (c *Control) Logout(w http.ResponseWriter) {
	cookie := c.cookie("") //nolint:gosec // see there
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}

// inSession finds the caller by the session's cookie.
func (c *Control) inSession(r *http.Request) (proof, *Error) {
	cookie, err := r.Cookie(c.cookie("").Name)
	// A page of a listed origin may be of the same site, and then browsers send the cookie with its requests. It needs a key of its own.
	if err != nil || c.sameOrigin.Check(r) != nil {
		return proof{}, unauthorized("send a key or a token in the header `Authorization: Bearer`")
	}
	credential, ok := c.sessions.open(cookie.Value, c.now())
	if !ok {
		return proof{}, unauthorized("the session has ended; log in again")
	}
	if h, ok := parseHash(credential); ok {
		return c.byHash(h)
	}
	return c.prove(r.Context(), credential)
}
