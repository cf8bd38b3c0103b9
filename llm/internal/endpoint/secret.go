package endpoint

import (
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/redact"
)

// Secrets returns the texts that must not be in errors: the API key, the words in the values of `headers` and `query`, and the password
// in `baseURL`. Of `headers` and `query`, it omits known settings (see [redact.IsSetting]) and words of fewer than 8 bytes. They are
// hardly secrets, and hiding them could make a message unreadable.
func Secrets(key, baseURL string, headers, query map[string]string) []string {
	secrets := []string{key}
	for _, values := range []map[string]string{headers, query} {
		for name, value := range values {
			if redact.IsSetting(name) {
				continue
			}
			for word := range strings.FieldsSeq(value) {
				if len(word) >= 8 {
					secrets = append(secrets, word)
				}
			}
		}
	}
	if base, err := url.Parse(baseURL); err == nil {
		if password, set := base.User.Password(); set {
			secrets = append(secrets, password)
		}
	}
	return secrets
}
