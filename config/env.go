package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// reference is ${NAME}, or $${ which stands for ${ itself.
var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// references reads names with values that may refer to environment variables.
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
					r.problemf(p.path, "%s is not a reference to an environment variable; write ${NAME}, or $${ for the characters themselves", ref)
				}
			}
		})
		*into = m
	}
}

// variable returns NAME of ${NAME}, and what is no name of anything else.
func variable(ref string) string {
	name, ok := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !ok {
		return ""
	}
	return name
}

// resolve replaces the references in values. It tells every unset variable in
// report, with the name that has it.
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

// ResolveHeaders returns Headers with the worker's environment filled in. A
// reference to an unset variable is an error; one that is set to nothing is not.
func (s MCPServer) ResolveHeaders() (map[string]string, error) {
	return resolveAll("headers", s.Headers)
}

// ResolveEnv returns Env with the worker's environment filled in, under the
// same rules as [MCPServer.ResolveHeaders].
func (s MCPServer) ResolveEnv() (map[string]string, error) {
	return resolveAll("env", s.Env)
}

// APIKey reads the model's key from the environment or its file, every time anew. It is
// empty where neither is named; a variable or file that is not there or empty is an error.
func (m Model) APIKey() (string, error) {
	if m.APIKeyFile != "" {
		text, err := os.ReadFile(m.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("the file with the model's key: %w", err)
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

// CheckEnvironment reports every environment variable that is named in the file,
// needed by an agent, and not set. A worker calls it before it serves anything;
// what no agent uses is not asked for. An error is an [*Error].
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
