package config

import (
	"regexp"
	"strings"
)

// CallerOAuth says how a worker gets the tokens of callers for an MCP server by the token exchange of OAuth 2 (RFC 8693). The worker sends a token
// that stands for the caller to an authorization server, and gets an access token for the MCP server. The token that stands for the caller comes
// from [CallerTokens]. If the file has no `caller_tokens`, it is the reference of the caller.
type CallerOAuth struct {
	// OAuth has the authorization server and the worker's credentials for it. If its resource is empty, it is the URL of the MCP server.
	OAuth
	// Audience is the name of the MCP server at this authorization server. With Server, it is the issuer of the MCP server's own authorization
	// server.
	Audience string
	// SubjectTokenType is the type of the token that stands for the caller: id_token, access_token, jwt, or a URI. Empty means id_token. In the
	// file, this field is `subject_token_type`.
	SubjectTokenType string
	// Server has the MCP server's own authorization server, and the worker's credentials for it. The exchange then gives an identity assertion,
	// and Server gives the access token for this assertion (RFC 7523). Nil means that the exchange gives the access token. In the file, this
	// field is `authorization_server`.
	Server *OAuth
}

const tokenTypes = "urn:ietf:params:oauth:token-type:" //nolint:gosec // the beginning of a name

var subjectType = regexp.MustCompile(`^(id_token|access_token|jwt|[A-Za-z][A-Za-z0-9+.-]*:[!-~]+)$`)

func (r *reader) callerOAuth(p place) *CallerOAuth {
	o := &CallerOAuth{}
	p.requires(append([]string{"audience"}, oauthClientKeys...)...)
	r.object(p, joined(r.oauthClient(&o.OAuth), r.oauthRequest(&o.OAuth), keys{
		"audience": {"The name of the MCP server at the authorization server; with authorization_server, the issuer of that one.", r.text(&o.Audience)},
		"subject_token_type": {"The type of the token that stands for the caller: id_token (the default), access_token, jwt, or a URI.",
			r.matching(&o.SubjectTokenType, subjectType, "must be id_token, access_token, jwt, or the URI of another type")},
		"authorization_server": {"The MCP server's own authorization server, if it takes identity assertions (ID-JAG) for its tokens.", func(p place) {
			o.Server = &OAuth{}
			p.requires(oauthClientKeys...)
			r.object(p, r.oauthClient(o.Server))
		}},
	}))
	return o
}

// TokenType returns the URI of the type of the token that stands for the caller; "" for an ID token.
func (o CallerOAuth) TokenType() string {
	if o.SubjectTokenType == "" || strings.Contains(o.SubjectTokenType, ":") {
		return o.SubjectTokenType
	}
	return tokenTypes + o.SubjectTokenType
}

func (r *reader) checkCallerOAuth(path string, o *CallerOAuth) {
	if o == nil {
		r.checkOAuth(path, nil)
		return
	}
	r.checkOAuth(path, &o.OAuth)
	if o.Server != nil || r.present(path+".authorization_server") {
		r.checkOAuth(path+".authorization_server", o.Server)
	}
	if o.Audience == "" && !r.hasProblem(path) && !r.hasProblem(path+".audience") {
		r.problemf(path+".audience", "missing; write the name of the MCP server at the authorization server")
	}
}

// oauthClients returns the clients of OAuth 2 of an MCP server, by their fields.
func (s MCPServer) oauthClients() map[string]*OAuth {
	all := map[string]*OAuth{}
	if s.OAuth != nil {
		all["oauth"] = s.OAuth
	}
	if s.CallerOAuth != nil {
		all["caller_oauth"] = &s.CallerOAuth.OAuth
		if s.CallerOAuth.Server != nil {
			all["caller_oauth.authorization_server"] = s.CallerOAuth.Server
		}
	}
	return all
}
