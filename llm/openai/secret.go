package openai

import (
	"net/url"
	"strings"
)

// secrets returns the texts that no error may hold: the API key, words of headers, and a password in the URL. What is too
// short to be a secret is left out, since hiding it would garble messages.
func (o Options) secrets() []string {
	secrets := []string{o.APIKey}
	for _, value := range o.Headers {
		for word := range strings.FieldsSeq(value) {
			if len(word) >= 8 {
				secrets = append(secrets, word)
			}
		}
	}
	if base, err := url.Parse(o.BaseURL); err == nil {
		if password, set := base.User.Password(); set {
			secrets = append(secrets, password)
		}
	}
	return secrets
}

// maxWord limits the length of a model's name, and of a finish reason, in an error. It is a number of bytes.
const maxWord = 200
