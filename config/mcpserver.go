package config

func (r *reader) mcpServer(p place) MCPServer {
	s := MCPServer{Timeout: DefaultMCPTimeout}
	p.requiresOne("command", "url")
	r.object(p, joined(r.key(&s.Key), r.tls(&s.TLS), keys{
		"command": {"A program, and its arguments, that talks over standard input and output.", r.program(&s.Command)},
		"env": {"Environment variables of the command; values may have references such as ${NAME} and ${file:PATH}.",
			r.references(&s.Env, envName, "is not the name of an environment variable")},
		"url": {"The endpoint of a server that talks over streamable HTTP.", r.webURL(&s.URL)},
		"headers": {"Headers of every request to the url; values may have references such as ${NAME}, ${file:PATH} and ${api_key}.",
			r.references(&s.Headers, headerName, "is not the name of a header")},
		"oauth":        {"How the worker gets its tokens for the url, by the client credentials grant of OAuth 2.", func(p place) { s.OAuth = r.oauth(p) }},
		"caller_token": {"Whether each call of a tool has the token of its caller, from caller_tokens, in the header Authorization.", r.boolean(&s.CallerToken)},
		"caller_oauth": {"How the worker gets the tokens of callers for the url, by the token exchange of OAuth 2 (RFC 8693).",
			func(p place) { s.CallerOAuth = r.callerOAuth(p) }},
		"prefix":   {"Added before the names of the server's tools, except those in rename.", r.matching(&s.Prefix, toolName, "must be "+toolNameHelp)},
		"rename":   {"The names that models see, by the name of the tool at the server.", r.renames(&s.Rename)},
		"stateful": {"Whether the process of the command keeps something between calls. Then only one worker may run it.", r.boolean(&s.Stateful)},
		"timeout":  {"The longest time of one call.", r.duration(&s.Timeout)},
	}))
	return s
}

func (r *reader) renames(into *map[string]string) func(place) {
	return func(p place) {
		m, owner := map[string]string{}, map[string]string{}
		r.entries(p, func(from string, p place) {
			var to string
			r.matching(&to, toolName, "must be "+toolNameHelp)(p)
			if other, ok := owner[to]; ok && to != "" {
				r.problemf(p.path, "%q is the new name of %q already; give each tool a name of its own", to, other)
				return
			}
			m[from], owner[to] = to, from
		})
		*into = m
	}
}
