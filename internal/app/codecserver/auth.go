package codecserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// minSecret is the least length of a token or a password, in bytes.
const minSecret = 16

// Auth has the hashes of the Authorization headers that a server accepts.
type Auth [][sha256.Size]byte

// ParseAuth reads credentials, one on each line: "Bearer TOKEN" or "Basic USER:PASSWORD". Empty lines do not count. An error names the line, and
// has no part of it.
func ParseAuth(text string) (Auth, error) {
	var all Auth
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		scheme, secret, _ := strings.Cut(line, " ")
		secret = strings.TrimSpace(secret)
		switch strings.ToLower(scheme) {
		case "bearer":
			if len(secret) < minSecret || strings.ContainsAny(secret, " \t") {
				return nil, fmt.Errorf("line %d: the token must have at least %d characters and no spaces: write `Bearer` and the output of `openssl rand -hex 32`", i+1, minSecret)
			}
		case "basic":
			user, password, found := strings.Cut(secret, ":")
			if !found || user == "" || len(password) < minSecret {
				return nil, fmt.Errorf("line %d: write `Basic USER:PASSWORD`, with a password of at least %d characters", i+1, minSecret)
			}
			secret = base64.StdEncoding.EncodeToString([]byte(secret))
		default:
			return nil, fmt.Errorf("line %d: write `Bearer TOKEN` or `Basic USER:PASSWORD`", i+1)
		}
		all = append(all, hashOf(strings.ToLower(scheme), secret))
	}
	if len(all) == 0 {
		return nil, errors.New("there are no credentials: write `Bearer TOKEN` or `Basic USER:PASSWORD` on each line")
	}
	return all, nil
}

func hashOf(scheme, secret string) [sha256.Size]byte {
	return sha256.Sum256([]byte(scheme + " " + secret))
}

// accepts takes the same time for all headers of a length.
func (a Auth) accepts(header string) bool {
	scheme, secret, _ := strings.Cut(header, " ")
	given := hashOf(strings.ToLower(scheme), strings.TrimSpace(secret))
	same := 0
	for _, each := range a {
		same |= subtle.ConstantTimeCompare(each[:], given[:])
	}
	return same == 1
}
