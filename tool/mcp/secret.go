package mcp

import (
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/redact"
)

// minSecret is the minimum length of a secret, in bytes. A shorter value, such as "1" or "true", is not treated as a secret,
// because many harmless texts contain it.
const minSecret = 6

// censor returns a redactor that hides the secrets of a server's configuration in texts. The values of [Server.Env] and [Server.Headers]
// are secrets, and so is the part of a header's value after the first space, as in "Bearer TOKEN". The user name, the password and the
// query values in [Server.URL] are secrets, too. A value of fewer than [minSecret] bytes is not hidden.
func censor(s Server) *redact.Redactor {
	secrets := headerSecrets(s.Headers)
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
	if u, err := url.Parse(s.URL); err == nil {
		password, _ := u.User.Password()
		hide(u.User.Username(), password)
		for _, values := range u.Query() {
			hide(values...)
		}
	}
	return redact.New(secrets...)
}

func headerSecrets(headers map[string]string) []string {
	var secrets []string
	for _, v := range headers {
		_, token, _ := strings.Cut(v, " ") // Bearer …
		for _, secret := range []string{v, token} {
			if len(secret) >= minSecret {
				secrets = append(secrets, secret)
			}
		}
	}
	return secrets
}
