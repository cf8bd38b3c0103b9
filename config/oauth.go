package config

import (
	"fmt"
	"strings"
)

// OAuth lets a worker get its tokens for an MCP server by the client credentials grant of OAuth 2.
type OAuth struct {
	// ClientID is the name of the worker at the authorization server. In the file, this field is `client_id`.
	ClientID string
	// ClientSecret is a reference to the secret: ${NAME} for an environment variable, or ${file:PATH} for a file. See [OAuth.Secret]. In the
	// file, this field is `client_secret`.
	ClientSecret string
	// TokenURL is the token endpoint. In the file, this field is `token_url`.
	TokenURL string
	// Scopes are asked for.
	Scopes []string
	// Resource is the URL for which the token is: see RFC 8707. Empty means that it is not sent.
	Resource string
}

// Secret reads the secret. It returns an error if the variable is not set, or if the file cannot be read, or if the secret is empty.
func (o OAuth) Secret() (string, error) {
	var problem error
	secret := strings.TrimSpace(resolve(o.ClientSecret, "", func(text string) { problem = fmt.Errorf("client_secret: %s", text) }))
	if problem == nil && secret == "" {
		problem = fmt.Errorf("client_secret: the secret is empty%s", inWorker)
	}
	return secret, problem
}

func (r *reader) oauth(p place) *OAuth {
	o := &OAuth{}
	p.requires(oauthClientKeys...)
	r.object(p, joined(r.oauthClient(o), r.oauthRequest(o)))
	return o
}

var oauthClientKeys = []string{"client_id", "client_secret", "token_url"}

// oauthClient returns the fields for the authorization server and the worker's credentials.
func (r *reader) oauthClient(o *OAuth) keys {
	return keys{
		"client_id":     {"The name of the worker at the authorization server.", r.text(&o.ClientID)},
		"client_secret": {"The secret of the worker: ${NAME} or ${file:PATH}.", r.secretReference(&o.ClientSecret)},
		"token_url":     {"The token endpoint of the authorization server.", r.webURL(&o.TokenURL)},
	}
}

// oauthRequest returns the fields for what the token is to be good for.
func (r *reader) oauthRequest(o *OAuth) keys {
	return keys{
		"scopes":   {"The scopes to ask for.", r.texts(&o.Scopes, r.text)},
		"resource": {"The URL for which the token is, as the authorization server knows it (RFC 8707).", r.webURL(&o.Resource)},
	}
}

func (r *reader) checkOAuth(path string, o *OAuth) {
	if o == nil {
		if r.present(path) {
			r.problemf(path, "is empty; write client_id, client_secret and token_url, or remove it")
		}
		return
	}
	for _, f := range []struct{ name, value, help string }{
		{"client_id", o.ClientID, "write the name of the worker at the authorization server"},
		{"client_secret", o.ClientSecret, "write ${NAME} for an environment variable that has the secret"},
		{"token_url", o.TokenURL, "write the token endpoint, such as https://login.example.com/oauth2/token"},
	} {
		if f.value == "" && !r.hasProblem(path) && !r.hasProblem(path+"."+f.name) {
			r.problemf(path+"."+f.name, "missing; %s", f.help)
		}
	}
}
