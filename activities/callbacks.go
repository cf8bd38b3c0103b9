package activities

import (
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/internal/token"
)

// Callbacks lets external calls get their results by HTTP. A notification then has a URL for each external call that waits, and the
// far side sends the result to this URL. Package [github.com/reagent-dev/reagent/callback] has the handler for these requests.
//
// Whoever has such a URL can give this one call its result, and can do nothing else. The URL ends with a token that is signed with the
// secret. The worker makes the URL when it delivers the notification, so the URL is in no history.
type Callbacks struct {
	// URL is the URL at which the far side reaches the handler, such as "https://agents.example.com/callbacks". It must not have a
	// query, because each token is added as a further segment of the path. Required.
	URL string
	// Secret signs the tokens. It needs at least 24 bytes. If it begins with "whsec_", the rest is base64. Any other secret is used as it
	// is. All workers and all handlers need the same secret. Required.
	Secret string
	// OldSecrets are earlier values of Secret. Tokens that they have signed are still accepted. To replace Secret, move its old value
	// here, and remove it when all calls whose URLs it has signed have their results.
	OldSecrets []string
}

type callbacks struct {
	base   string
	signer *token.Signer
}

// newCallbacks returns nil if c is nil.
func newCallbacks(c *Callbacks) (*callbacks, error) {
	if c == nil {
		return nil, nil
	}
	if err := token.CheckURL(c.URL); err != nil {
		return nil, fmt.Errorf("callbacks: Callbacks.URL %w", err)
	}
	signer, err := token.NewSigner(c.Secret, c.OldSecrets...)
	if err != nil {
		return nil, fmt.Errorf("callbacks: %w", err)
	}
	return &callbacks{c.URL, signer}, nil
}

// url returns "" if c is nil.
func (c *callbacks) url(agentID string, call agent.Key) string {
	if c == nil {
		return ""
	}
	return token.URL(c.base, c.signer.Sign(token.Call{AgentID: agentID, Key: call}))
}

// hideCallbacks returns a text without the tokens of the message. A receiver may repeat the message in its response, which becomes part
// of an error in the history.
func hideCallbacks(m hookMessage, text string) string {
	var signatures []string
	for _, c := range m.Data.Calls {
		if c.Callback != "" {
			signatures = append(signatures, token.Signature(c.Callback))
		}
	}
	return redact.New(signatures...).Text(text)
}
