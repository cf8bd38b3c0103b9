package endpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
)

// credential returns the credential for a request: that of [Settings.Credential], and what the settings have beside it. `refused` is the
// credential that the endpoint has just refused; nil if there is none.
func (b *Base) credential(ctx context.Context, refused *llm.Credential) (llm.Credential, error) {
	c := llm.Credential{APIKey: b.APIKey, Headers: b.Headers, Query: b.Query}
	if b.Credential == nil {
		return c, nil
	}
	got, err := b.Credential(ctx, refused)
	if err != nil {
		if ctx.Err() != nil {
			return llm.Credential{}, ctx.Err()
		}
		return llm.Credential{}, &llm.Error{Class: llm.NoCredential, Message: err.Error(), Err: err}
	}
	if got.APIKey = strings.TrimSpace(got.APIKey); got.APIKey != "" {
		c.APIKey = got.APIKey
	}
	c.Headers, c.Query = with(c.Headers, got.Headers), with(c.Query, got.Query)
	if err := checkCredential(c); err != nil {
		return llm.Credential{}, &llm.Error{Class: llm.NoCredential, Message: err.Error()}
	}
	secrets := Secrets(c.APIKey, b.BaseURL, c.Headers, c.Query)
	b.secrets.Add(secrets...)
	b.replies.Add(redact.OnlyRandom(secrets)...)
	return c, nil
}

// with returns a map with the values of both; those of `more` count.
func with(values, more map[string]string) map[string]string {
	if len(more) == 0 {
		return values
	}
	all := map[string]string{}
	maps.Copy(all, values)
	maps.Copy(all, more)
	return all
}

// checkCredential returns an error if a part of the credential cannot be sent. The error does not quote it.
func checkCredential(c llm.Credential) error {
	if !isToken(c.APIKey) {
		return errors.New("the API key for the endpoint contains white space or a control character; correct its source")
	}
	for name, value := range c.Headers {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the header %s for the endpoint contains a control character; correct its source", name)
		}
	}
	return nil
}

// isToken reports whether a key can be sent as a header. An empty key is not sent.
func isToken(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
