package mcp

import (
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/redact"
)

// minSecret is the length in bytes of the shortest value that counts as a secret. Hiding shorter values such as "1" or "true"
// everywhere would make texts unreadable.
const minSecret = 6

// censor returns a redactor that hides the secrets of a server's configuration in texts. The values of Env and Headers count as
// secrets. So do the user name, the password and the values of the query parameters in URL. A value of fewer than minSecret
// bytes is not hidden.
func censor(s Server) *redact.Redactor {
	var secrets []string
	hide := func(values ...string) {
		for _, v := range values {
			if len(v) >= minSecret {
				secrets = append(secrets, v)
			}
		}
	}
	for _, v := range s.Env {
		hide(v)
	}
	for _, v := range s.Headers {
		hide(v)
		if _, token, ok := strings.Cut(v, " "); ok { // Bearer …
			hide(token)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			hide(password)
		}
		if u.User != nil {
			hide(u.User.Username())
		}
		for _, values := range u.Query() {
			hide(values...)
		}
	}
	return redact.New(secrets...)
}
