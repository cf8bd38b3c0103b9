package config

import "time"

// CallerTokens says where a worker gets the tokens with which tools act for callers: from a program or from an endpoint. It is asked with the
// reference of the caller, which stands in the metadata of a message.
type CallerTokens struct {
	// Command is a program and its arguments; nil if URL is set. It has the environment of the worker.
	Command []string
	// URL is the endpoint; empty if Command is set.
	URL string
	// Headers are sent with every request to the URL. Values may refer to environment variables and files: see [CallerTokens.ResolveHeaders].
	Headers map[string]string
	// TLS has the files for the connection to the URL.
	TLS TLS
	// Timeout limits one request, or one run of the program. Zero means 10 seconds.
	Timeout time.Duration
}

// MaxCallerTokenTimeout is the largest value of [CallerTokens.Timeout].
const MaxCallerTokenTimeout = time.Minute

// ResolveHeaders returns a copy of the headers. It replaces the same references and returns the same errors as [MCPServer.ResolveEnv].
func (t CallerTokens) ResolveHeaders() (map[string]string, error) {
	return resolveAll("headers", t.Headers, "")
}

func (r *reader) callerTokens(p place) *CallerTokens {
	t := &CallerTokens{}
	p.requiresOne("command", "url")
	r.object(p, joined(r.tls(&t.TLS), keys{
		"command": {"A program, and its arguments, that gets the reference of a caller on its standard input and prints the token.", r.program(&t.Command)},
		"url":     {"The endpoint to which the reference of a caller is posted, and which answers with the token.", r.webURL(&t.URL)},
		"headers": {"Headers of every request to the url; values may have references such as ${NAME} and ${file:PATH}.",
			r.references(&t.Headers, headerName, "is not the name of a header")},
		"timeout": {"The longest time of one request, at most 1m; 10s by default.", r.duration(&t.Timeout)},
	}))
	return t
}

func (r *reader) checkCallerTokens(cfg *Config) {
	const path = "caller_tokens"
	t := cfg.CallerTokens
	for _, name := range sorted(cfg.MCPServers) {
		switch s, field := cfg.MCPServers[name], "mcp_servers."+name; {
		case r.present(path):
		case s.CallerOAuth != nil && s.CallerOAuth.SubjectTokenType == "":
			r.problemf(field+".caller_oauth", "needs caller_tokens at the top of the file, which gives the ID token of a caller; "+
				"if the authorization server knows the references themselves, write their subject_token_type")
		case s.CallerToken && s.CallerOAuth == nil:
			r.problemf(field+".caller_token", "needs caller_tokens at the top of the file, which says where the tokens come from")
		}
	}
	switch {
	case t != nil:
		hasCommand, _ := r.checkCommandOrURL(path, t.Command, t.URL)
		r.checkTLS(path, t.TLS)
		if hasCommand && (t.Headers != nil || t.TLS != TLS{}) {
			r.problemf(path, "has headers or TLS files, which are for a url; remove them")
		}
		if t.Timeout > MaxCallerTokenTimeout {
			r.problemf(path+".timeout", "must be at most %v, not %v", MaxCallerTokenTimeout, t.Timeout)
		}
	case r.present(path):
		r.problemf(path, "is empty; write command or url, or remove it")
	}
}
