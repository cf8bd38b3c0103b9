package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// reference matches ${NAME}, and $${, which stands for the characters ${.
var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// references returns a function that reads a mapping. Its keys must match name, and its values may refer to environment variables. Help is the
// error text for other keys.
func (r *reader) references(into *map[string]string, name *regexp.Regexp, help string) func(place) {
	return func(p place) {
		m := map[string]string{}
		r.entries(p, func(key string, p place) {
			if !name.MatchString(key) {
				r.problemf(p.path, "%q %s", key, help)
				return
			}
			m[key] = r.verbatim(p)
			for _, ref := range reference.FindAllString(m[key], -1) {
				if !strings.HasPrefix(ref, "$$") && !envName.MatchString(variable(ref)) {
					r.problemf(p.path, "%s is not a reference to an environment variable; write ${NAME}, or $${ for the characters ${", ref)
				}
			}
		})
		*into = m
	}
}

// variable returns the text between ${ and }. It is empty if } is missing.
func variable(ref string) string {
	name, ok := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !ok {
		return ""
	}
	return name
}

// resolve returns values with each reference replaced by the value of its environment variable. It calls report for each variable that is not
// set, with the name of the entry that refers to it.
func resolve(values map[string]string, report func(name, variable string)) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for _, name := range sorted(values) {
		out[name] = reference.ReplaceAllStringFunc(values[name], func(ref string) string {
			if strings.HasPrefix(ref, "$$") {
				return ref[1:]
			}
			value, ok := os.LookupEnv(variable(ref))
			if !ok {
				report(name, variable(ref))
			}
			return value
		})
	}
	return out
}

func resolveAll(what string, values map[string]string) (map[string]string, error) {
	var errs []error
	out := resolve(values, func(name, variable string) {
		errs = append(errs, fmt.Errorf("%s.%s: the environment variable %s is not set", what, name, variable))
	})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// ResolveHeaders returns Headers with references replaced by the values of environment variables. A reference to a variable that is not set
// is an error. A variable may be empty.
func (s MCPServer) ResolveHeaders() (map[string]string, error) {
	return resolveAll("headers", s.Headers)
}

// ResolveEnv returns Env with references replaced by the values of environment variables, as [MCPServer.ResolveHeaders] does.
func (s MCPServer) ResolveEnv() (map[string]string, error) {
	return resolveAll("env", s.Env)
}

// APIKey returns the model's key. Each call reads the file or the environment variable. APIKey returns "" if the model names neither. A file
// or variable that is missing or empty is an error.
func (m Model) APIKey() (string, error) {
	if m.APIKeyFile != "" {
		text, err := os.ReadFile(m.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("the file that holds the model's key cannot be read: %w", err)
		}
		key := strings.TrimSpace(string(text))
		if key == "" {
			return "", fmt.Errorf("the file %s, which holds the model's key, is empty", m.APIKeyFile)
		}
		return key, nil
	}
	if m.APIKeyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(os.Getenv(m.APIKeyEnv))
	if key == "" {
		return "", fmt.Errorf("the environment variable %s, which holds the model's key, is not set", m.APIKeyEnv)
	}
	return key, nil
}

// CheckEnvironment returns an error that names each environment variable and key file that an agent needs and that is missing. Models and MCP
// servers that no agent uses are not checked. A worker calls CheckEnvironment before it starts. The error is an [*Error].
func (c *Config) CheckEnvironment() error {
	var problems []Problem
	models, servers := map[string]bool{}, map[string]bool{}
	for _, a := range c.Agents {
		for _, name := range a.Models() {
			models[name] = true
		}
		for _, tool := range a.Tools {
			server, _ := SplitTool(tool)
			servers[server] = true
		}
	}
	for _, name := range sorted(c.Models) {
		if _, err := c.Models[name].APIKey(); models[name] && err != nil {
			field := ".api_key_env"
			if c.Models[name].APIKeyFile != "" {
				field = ".api_key_file"
			}
			problems = append(problems, c.source.at("models."+name+field, "%v", err))
		}
	}
	for _, name := range sorted(c.MCPServers) {
		if !servers[name] {
			continue
		}
		unset := func(path string) func(key, variable string) {
			return func(key, variable string) {
				problems = append(problems, c.source.at(path+"."+key, "the environment variable %s is not set", variable))
			}
		}
		resolve(c.MCPServers[name].Env, unset("mcp_servers."+name+".env"))
		resolve(c.MCPServers[name].Headers, unset("mcp_servers."+name+".headers"))
	}
	return newError(problems)
}
