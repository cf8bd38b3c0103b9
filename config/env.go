package config

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// queryName matches the names of query parameters that need no escaping (RFC 3986, section 2.3).
var queryName = regexp.MustCompile("^[A-Za-z0-9._~-]+$")

// reference matches ${NAME}, a reference to an environment variable, and ${file:PATH}, a reference to a file. It also matches $${. In
// a value, $${ stands for the two characters ${ and does not begin a reference.
var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// references returns a function that reads a mapping and stores it in `*into`. Each key must match `keyPattern`. If a key does
// not match, the error text ends with `keyHelp`. The values may contain references to environment variables and files. The function
// checks that these references are well-formed, but does not replace them. It makes the paths of files relative to the folder of the
// configuration file.
func (r *reader) references(into *map[string]string, keyPattern *regexp.Regexp, keyHelp string) func(place) {
	return func(p place) {
		m := map[string]string{}
		r.named(p, keyPattern, keyHelp, func(key string, p place) { m[key] = r.withReferences(p) })
		*into = m
	}
}

func (r *reader) withReferences(p place) string {
	var text string
	r.verbatim(&text)(p)
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		path, isFile := fileOf(ref)
		switch {
		case strings.HasPrefix(ref, "$$"):
		case isFile:
			return "${" + filePrefix + beside(r.file, path) + "}"
		case !envName.MatchString(variable(ref)):
			r.problemf(p.path, "%s is not a reference; write ${NAME} for an environment variable, ${file:PATH} for the content of a file, or $${ for the characters ${", ref)
		}
		return ref
	})
}

const filePrefix = "file:"

const inWorker = "; set it in the environment of the worker"

func fileOf(ref string) (path string, ok bool) {
	path, ok = strings.CutPrefix(variable(ref), filePrefix)
	return path, ok && path != ""
}

func variable(ref string) string {
	name, ok := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !ok {
		return ""
	}
	return name
}

// resolve replaces each reference in a value by the value of the environment variable, or by the content of the file without white space
// around it. If `key` is not empty, it replaces ${api_key}. If a variable is not set, or a file cannot be read or is empty, resolve calls
// `report` with a text that says so.
func resolve(value, key string, report func(problem string)) string {
	return reference.ReplaceAllStringFunc(value, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		path, ok := fileOf(ref)
		switch {
		case !ok && key != "" && variable(ref) == apiKeyReference:
			return key
		case !ok:
			return lookup(variable(ref), report)
		}
		content, err := os.ReadFile(path)
		text := strings.TrimSpace(string(content))
		switch {
		case err != nil:
			report(err.Error())
		case text == "":
			report("the file " + path + " is empty")
		}
		return text
	})
}

func lookup(variable string, report func(problem string)) string {
	value, ok := os.LookupEnv(variable)
	if !ok {
		report("the environment variable " + variable + " is not set" + inWorker)
	}
	return value
}

// resolveEach returns a copy of a map with the values that [resolve] returns. It reports problems with `what`, a dot and the map key.
func resolveEach(what string, values map[string]string, key string, report func(name, problem string)) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for _, name := range sorted(values) {
		out[name] = resolve(values[name], key, func(problem string) { report(what+"."+name, problem) })
	}
	return out
}

// collected calls the function `resolved` and returns its values. If `resolved` has reported problems, collected returns one error that lists
// them all.
func collected(resolved func(report func(name, problem string)) map[string]string) (map[string]string, error) {
	var errs []error
	values := resolved(func(name, problem string) { errs = append(errs, fmt.Errorf("%s: %s", name, problem)) })
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return values, nil
}

func resolveAll(what string, values map[string]string, key string) (map[string]string, error) {
	return collected(func(report func(name, problem string)) map[string]string {
		return resolveEach(what, values, key, report)
	})
}

// ResolveEnv returns a copy of `Env`. In the copy, each reference ${NAME} is replaced by the value of the worker's environment variable NAME.
// Each reference ${file:PATH} is replaced by the content of the file, without white space around it. It is an error if a variable is not
// set, or if a file cannot be read or is empty. A variable that is set may be empty.
func (s MCPServer) ResolveEnv() (map[string]string, error) {
	return resolveAll("env", s.Env, "")
}

// ResolveEnv returns the environment variables whose names are in `Env`, with their values. It is an error if a variable is not set. A
// variable that is set may be empty.
func (s Shell) ResolveEnv() (map[string]string, error) { return collected(s.resolveEnv) }

func (s Shell) resolveEnv(report func(name, problem string)) map[string]string {
	env := map[string]string{}
	for i, name := range s.Env {
		env[name] = lookup(name, func(problem string) { report(fmt.Sprintf("env[%d]", i), problem) })
	}
	return env
}

// CheckEnvironment checks the environment variables and files to which the configuration refers. Of models, MCP servers and the tool
// `shell`, it checks only those that an agent has; it checks all hooks, the callbacks and the tokens of callers. A worker calls CheckEnvironment before it starts.
// The error is an [*Error] with all of these problems:
//   - a variable is not set
//   - a file cannot be read or is empty, or a file for TLS has no certificate or key
//   - an API key is empty
//   - the URL of a hook is not valid when its references are replaced
//   - the secret of an OAuth client is empty
//   - the secret of a hook or of the callbacks is too short, or not base64 after "whsec_"
func (c *Config) CheckEnvironment() error {
	var problems []Problem
	models, servers := map[string]bool{}, map[string]bool{}
	for _, a := range c.Agents {
		for _, name := range a.Models() {
			models[name] = true
		}
		for _, tool := range a.ToolEntries() {
			server, _ := SplitTool(tool)
			servers[server] = true
		}
	}
	at := func(path string) func(key, problem string) {
		return func(key, problem string) { problems = append(problems, c.source.at(path+"."+key, "%s", problem)) }
	}
	for _, name := range sorted(c.Models) {
		if !models[name] {
			continue
		}
		m, path := c.Models[name], "models."+name
		c.checkKeyEnvironment(path, m.Key, at(path))
		resolveEach("headers", m.Headers, m.stand(), at(path))
		resolveEach("query", m.Query, m.stand(), at(path))
		m.TLS.config(at(path))
	}
	for _, name := range sorted(c.MCPServers) {
		if s, path := c.MCPServers[name], "mcp_servers."+name; servers[name] {
			c.checkKeyEnvironment(path, s.Key, at(path))
			resolveEach("env", s.Env, "", at(path))
			clients := s.oauthClients()
			for _, name := range sorted(clients) {
				if _, err := clients[name].Secret(); err != nil {
					at(path)(name, err.Error())
				}
			}
			resolveEach("headers", s.Headers, s.stand(), at(path))
			s.TLS.config(at(path))
		}
	}
	if c.userOf(shellTool) != "" {
		c.Tools.Shell.resolveEnv(at("builtin.shell"))
	}
	for _, name := range sorted(c.Notify) {
		h, path := c.Notify[name], "notify."+name
		if _, err := h.ResolveURL(); err != nil {
			at(path)("url", err.Error())
		}
		if _, err := h.Secret(); err != nil {
			field := "secret_env"
			if h.SecretFile != "" {
				field = "secret_file"
			}
			at(path)(field, err.Error())
		}
		resolveEach("headers", h.Headers, "", at(path))
		resolveEach("env", h.Env, "", at(path))
	}
	if t := c.CallerTokens; t != nil {
		resolveEach("headers", t.Headers, "", at("caller_tokens"))
		t.TLS.config(at("caller_tokens"))
		if len(t.Command) > 0 {
			if _, err := exec.LookPath(t.Command[0]); err != nil {
				at("caller_tokens")("command", fmt.Sprintf("%v; install the program, or write its path", err))
			}
		}
	}
	if c.Callbacks != nil {
		c.Callbacks.secrets(at("callbacks"))
	}
	return c.found(problems)
}
