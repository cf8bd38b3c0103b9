package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// secretPrefix lets people and scanners recognise the secrets.
	secretPrefix = "rg_"
	secretBytes  = 32
	hashPrefix   = "sha256:"
)

// hash is the SHA-256 of a key's secret. A slow hash is for passwords: nobody can guess 32 random bytes, so it would only slow down requests.
// Because callers are found by the hash, the time of a lookup says nothing about the secrets that others have.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

func (h hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

func parseHash(text string) (h hash, ok bool) {
	digits, found := strings.CutPrefix(text, hashPrefix)
	if !found || len(digits) != hex.EncodedLen(len(h)) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

// isSecret reports whether a text has the form of a secret of [NewKey].
func isSecret(text string) bool {
	encoded, found := strings.CutPrefix(text, secretPrefix)
	return found && len(encoded) == base64.RawURLEncoding.EncodedLen(secretBytes)
}

// limits are the limits of one caller.
type limits struct {
	requestsPerMinute int
	maxBody           int64
}

// key is an API key of the access file.
type key struct {
	caller  Caller
	limits  limits
	expires time.Time // zero means never
}

var keyName = regexp.MustCompile(`^[A-Za-z0-9._@-]{1,64}$`)

const keyNameHelp = "write 1 to 64 letters, digits and characters of . _ @ -"

// NewKey returns a new API key: the secret for the caller, and its entry for the list `keys` of the access file, which has only a hash of the
// secret. It returns an error if the name or the grant is not valid.
func NewKey(name string, g Grant) (secret, entry string, err error) {
	if !keyName.MatchString(name) {
		return "", "", fmt.Errorf("the name of the key is %q: %s", name, keyNameHelp)
	}
	if err := g.check(); err != nil {
		return "", "", err
	}
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // it never fails
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(random)
	agents := make([]string, len(g.Agents))
	for i, a := range g.Agents {
		agents[i] = "'" + a + "'"
	}
	scopes := make([]string, len(g.Scopes))
	for i, s := range g.Scopes {
		scopes[i] = string(s)
	}
	all := ""
	if g.All {
		all = ", all: true"
	}
	return secret, fmt.Sprintf("- {name: '%s', hash: '%s', agents: [%s], scopes: [%s]%s}",
		name, hashOf(secret), strings.Join(agents, ", "), strings.Join(scopes, ", "), all), nil
}

// agentPattern has no quotes and no control characters, so it can stand in YAML and in messages.
var agentPattern = regexp.MustCompile(`^[A-Za-z0-9_*?\[\]^-]{1,64}$`)

func (g Grant) check() error {
	if len(g.Agents) == 0 {
		return fieldError{"agents", "is empty: write names of agents or patterns such as support-*"}
	}
	for _, a := range g.Agents {
		if _, err := path.Match(a, ""); err != nil || !agentPattern.MatchString(a) {
			return fieldError{"agents", fmt.Sprintf("has %q, which is neither the name of an agent nor a pattern such as support-*", a)}
		}
	}
	if len(g.Scopes) == 0 {
		return fieldError{"scopes", "is empty: write one or more of talk, read and approve"}
	}
	for _, s := range g.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fieldError{"scopes", fmt.Sprintf("has %q: write talk, read or approve", string(s))}
		}
	}
	return nil
}

// fieldError says what is wrong with a field.
type fieldError struct{ field, problem string }

func (e fieldError) Error() string { return e.field + " " + e.problem }
