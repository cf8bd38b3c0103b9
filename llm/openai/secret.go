package openai

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// secrets are the texts that no error may hold, the longest first.
type secrets []string

// secrets collects the API key and what else of the options may be one: words
// of headers, and a password in the URL. What is too short to be a secret is
// left out, since hiding it would garble messages.
func (o Options) secrets() secrets {
	var s secrets
	if len(o.APIKey) >= 4 {
		s = append(s, o.APIKey)
	}
	for _, value := range o.Headers {
		for word := range strings.FieldsSeq(value) {
			if len(word) >= 8 {
				s = append(s, word)
			}
		}
	}
	if base, err := url.Parse(o.BaseURL); err == nil {
		if password, set := base.User.Password(); set {
			s = append(s, password)
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.DeleteFunc(s, func(secret string) bool { return secret == "" })
}

// hide returns message without the secrets.
func (s secrets) hide(message string) string {
	for _, secret := range s {
		message = strings.ReplaceAll(message, secret, "[hidden]")
	}
	return message
}
