package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/reagent-dev/reagent/internal/token"
	"github.com/reagent-dev/reagent/internal/webhook"
)

// Callbacks lets the results of external calls come by HTTP: see package [github.com/reagent-dev/reagent/callback].
type Callbacks struct {
	// URL is the URL at which those who give the results reach the handler. Each token is added to it as a further segment of the path.
	// Required.
	URL string
	// Listen is the address, as host:port, at which a worker accepts the results. Empty means that the worker does not accept any.
	Listen string
	// Secret is a reference to the secret that signs the tokens: ${NAME} for an environment variable, or ${file:PATH} for a file. See
	// [Callbacks.ResolveSecrets]. Required.
	Secret string
	// OldSecrets are references to earlier secrets. Tokens that they have signed are still accepted. In the file, this field is
	// `old_secrets`.
	OldSecrets []string
}

// ResolveSecrets returns the secret and the old secrets. It reads the environment variables and the files. It returns an error if a
// variable or a file is missing, or if a secret is too short or not base64 after "whsec_". The error never contains a secret.
func (c Callbacks) ResolveSecrets() (secret string, old []string, err error) {
	values := c.secrets(func(field, problem string) {
		if err == nil {
			err = fmt.Errorf("%s: %s", field, problem)
		}
	})
	return values[0], values[1:], err
}

func (c Callbacks) secrets(report func(field, problem string)) []string {
	var values []string
	for i, ref := range c.references() {
		field := "secret"
		if i > 0 {
			field = fmt.Sprintf("old_secrets[%d]", i-1)
		}
		missing := false
		value := strings.TrimSpace(resolve(ref, "", func(problem string) {
			missing = true
			report(field, problem)
		}))
		if !missing {
			if _, err := webhook.Key(value); err != nil {
				report(field, err.Error())
			}
		}
		values = append(values, value)
	}
	return values
}

func (c Callbacks) references() []string { return append([]string{c.Secret}, c.OldSecrets...) }

func (r *reader) callbacks(p place) *Callbacks {
	c := &Callbacks{}
	p.requires("url", "secret")
	r.object(p, keys{
		"url": {"The URL under which the far side reaches the callbacks. Each token is added to its path.",
			drawnAs(webURLPattern, r.checked(&c.URL, func(text string) string {
				if err := token.CheckURL(text); err != nil {
					return err.Error()
				}
				return ""
			}))},
		"listen":      {"The host:port at which a worker accepts the results. Without it, a worker accepts none.", drawnAs(`:[0-9]+$`, r.checked(&c.Listen, checkAddress))},
		"secret":      {"The secret that signs the tokens: ${NAME} or ${file:PATH}. It has at least 24 bytes.", r.secretReference(&c.Secret)},
		"old_secrets": {"Earlier secrets, as ${NAME} or ${file:PATH}. Tokens that they have signed are still accepted.", r.texts(&c.OldSecrets, r.secretReference)},
	})
	return c
}

func checkAddress(text string) (problem string) {
	_, port, err := net.SplitHostPort(text)
	if n, atoi := strconv.Atoi(port); err != nil || atoi != nil || n <= 0 || n > 65535 {
		return "must be host:port, such as 127.0.0.1:8090"
	}
	return ""
}

// The error text never quotes the text in the file, which may be the secret itself.
func (r *reader) secretReference(into *string) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type, p.shape.Pattern = "string", `^\$\{[^}]+\}$`
			return
		}
		var text string
		r.verbatim(&text)(p)
		_, isFile := fileOf(text)
		switch {
		case r.hasProblem(p.path):
		case reference.FindString(text) != text || !isFile && !envName.MatchString(variable(text)):
			r.problemf(p.path, "must be ${NAME} for an environment variable or ${file:PATH} for a file that has the secret, and never the secret itself")
		default:
			*into = r.withReferences(p)
		}
	}
}

func (r *reader) checkCallbacks(c *Callbacks) {
	const path = "callbacks"
	if c == nil {
		if r.present(path) {
			r.problemf(path, "is empty; write url and secret, or remove it")
		}
		return
	}
	for _, f := range []struct{ name, value, help string }{
		{"url", c.URL, "write the URL under which the far side reaches the callbacks, such as https://agents.example.com/callbacks"},
		{"secret", c.Secret, "write ${NAME} for an environment variable that has a secret of at least 24 bytes"},
	} {
		if f.value == "" && !r.hasProblem(path) && !r.hasProblem(path+"."+f.name) {
			r.problemf(path+"."+f.name, "missing; %s", f.help)
		}
	}
}
