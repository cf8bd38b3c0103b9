package openai

import (
	"net/url"
	"strings"
)

// secrets returns the texts that must not be in errors: the API key, the words in the values of [Options.Headers], and the
// password in the URL. It omits header words of fewer than 8 bytes. Such words are hardly secrets, and hiding them could make
// a message unreadable.
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

// maxWord is the maximum length of the model's name and of the finish reason in an error, in bytes.
const maxWord = 200
