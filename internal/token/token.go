// Package token makes and checks the tokens in the URLs of callbacks. A token lets its holder give one external call its result, and
// nothing else.
//
// A token has two parts, with a dot between them. The first part is the text KEY/AGENT in base64 for URLs (RFC 4648, section 5): the key
// of the call and the ID of the agent. The second part signs this text: it is an HMAC-SHA256 in hexadecimal digits. A token does not
// expire, but it is useless when the call has its result.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/webhook"
)

// purpose begins each text that is signed, so that no other signature with the same secret is the signature of a token. The texts that
// package webhook signs begin with the ID of a message instead.
const purpose = "reagent callback 1\n"

// encoding is strict: it refuses texts whose unused bits are not zero, so that a call has only one token.
var encoding = base64.RawURLEncoding.Strict()

// Call names an external call.
type Call struct {
	// AgentID is the ID of the agent that made the call.
	AgentID string
	// Key is the key of the call.
	Key agent.Key
}

// Signer makes and checks tokens. It is safe for concurrent use.
type Signer struct{ keys [][]byte }

// NewSigner returns a Signer that signs with the secret, and accepts tokens that were signed with the secret or with one of the old
// secrets. Each secret must be valid: see [webhook.Key]. The error never contains a secret.
func NewSigner(secret string, old ...string) (*Signer, error) {
	s := &Signer{}
	for i, text := range append([]string{secret}, old...) {
		key, err := webhook.Key(text)
		if err != nil && i > 0 {
			err = fmt.Errorf("old secret %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// Sign returns the token of a call, signed with the first secret.
func (s *Signer) Sign(c Call) string {
	payload := string(c.Key) + "/" + c.AgentID
	return encoding.EncodeToString([]byte(payload)) + "." + sign(s.keys[0], payload)
}

// Verify returns the call of a token. It returns false unless [Signer.Sign] has made the token with one of the secrets of s. The time
// that the comparison takes does not depend on where a signature differs.
func (s *Signer) Verify(text string) (Call, bool) {
	encoded, signature, _ := strings.Cut(text, ".")
	payload, err := encoding.DecodeString(encoded)
	if err != nil || encoding.EncodeToString(payload) != encoded { // the decoder ignores line breaks
		return Call{}, false
	}
	genuine := false
	for _, key := range s.keys {
		// Compared as text, so that there is one token for a call and not another one in upper case.
		genuine = hmac.Equal([]byte(sign(key, string(payload))), []byte(signature)) || genuine
	}
	key, id, ok := strings.Cut(string(payload), "/")
	if !genuine || !ok {
		return Call{}, false
	}
	return Call{AgentID: id, Key: agent.Key(key)}, true
}

func sign(key []byte, payload string) string {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(purpose + payload))
	return hex.EncodeToString(sum.Sum(nil))
}

// Signature returns the secret part of a token, or of a URL that ends with a token. Without this part, the rest is useless.
func Signature(text string) string { return text[strings.LastIndex(text, ".")+1:] }

// URL returns the URL that ends with the token. `base` must be valid: see [CheckURL].
func URL(base, token string) string { return strings.TrimRight(base, "/") + "/" + token }

// CheckURL returns an error if a text cannot be the beginning of the URLs of callbacks. It must be an http:// or https:// URL with a host,
// without a query, a fragment or a user, and without the characters "{", "}" and "%" in its path. The error does not contain the text.
func CheckURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is not an http or https URL with a host; set one such as https://agents.example.com/callbacks")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil || strings.ContainsAny(u.EscapedPath(), "{}%"):
		return errors.New("has a user, a query, a fragment, or one of {, } and % in the path; set a URL with only a host and a plain path, such as https://agents.example.com/callbacks")
	}
	return nil
}
