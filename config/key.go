package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Key says where an API key or an access token comes from. At most one of APIKeyEnv, APIKeyFile and APIKeyCommand is set. If none is,
// requests have no key; most local endpoints need none.
type Key struct {
	// APIKeyEnv is the name of the environment variable that has the key. In the file, this field is `api_key_env`.
	APIKeyEnv string
	// APIKeyFile is the path of a file that contains the key. It is read for each request, so the key may change. In the file, this field
	// is `api_key_file`. A relative path there is relative to the folder of the configuration file.
	APIKeyFile string
	// APIKeyCommand is a program, and its arguments, that prints the key. In the file, this field is `api_key_command`.
	APIKeyCommand []string
	// APIKeyLifetime is for how long a key of APIKeyCommand is used before the command runs again. Zero means 5 minutes. In the file,
	// this field is `api_key_lifetime`.
	APIKeyLifetime time.Duration
}

// apiKeyReference stands for the API key in headers and queries.
const apiKeyReference = "api_key"

func (r *reader) key(k *Key) keys {
	return keys{
		"api_key_env":      {"The environment variable of the worker that has the API key.", r.matching(&k.APIKeyEnv, envName, envNameHelp)},
		"api_key_file":     {"The file that has the API key, relative to this file. It is read for each request.", r.filePath(&k.APIKeyFile)},
		"api_key_command":  {"A program, and its arguments, that prints the API key.", r.program(&k.APIKeyCommand)},
		"api_key_lifetime": {"How long a key of api_key_command is used before the command runs again; 5m by default.", r.duration(&k.APIKeyLifetime)},
	}
}

// joined returns the keys of several groups.
func joined(groups ...keys) keys {
	all := keys{}
	for _, group := range groups {
		maps.Copy(all, group)
	}
	return all
}

func (r *reader) checkKey(path string, k Key) {
	given := []string{}
	for _, field := range []string{"api_key_env", "api_key_file", "api_key_command"} {
		if r.present(path + "." + field) {
			given = append(given, field)
		}
	}
	switch command := path + ".api_key_command"; {
	case len(given) > 1:
		r.problemf(path, "has both %s and %s; keep one", given[0], given[1])
	case r.present(command) && (len(k.APIKeyCommand) == 0 || k.APIKeyCommand[0] == "") && !r.hasProblem(command):
		r.problemf(command, "is empty; write the program and its arguments")
	case r.present(path+".api_key_lifetime") && len(k.APIKeyCommand) == 0 && !r.hasProblem(command):
		r.problemf(path+".api_key_lifetime", "is for api_key_command; remove it")
	}
}

// set reports whether there is a key.
func (k Key) set() bool { return k.APIKeyEnv != "" || k.APIKeyFile != "" || len(k.APIKeyCommand) > 0 }

// stand returns a text that stands for the key where only the references are checked; "" if there is no key.
func (k Key) stand() string {
	if k.set() {
		return apiKeyReference
	}
	return ""
}

// Varies reports whether the key may change while the worker runs.
func (k Key) Varies() bool { return k.APIKeyFile != "" || len(k.APIKeyCommand) > 0 }

// APIKey returns the key in the file or the environment variable. Each call reads it again. APIKey returns "" if neither is set: it does
// not run APIKeyCommand. It returns an error if the file or the variable is missing or empty.
func (k Key) APIKey() (string, error) {
	if k.APIKeyFile != "" {
		text, err := os.ReadFile(k.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("the file with the API key cannot be read: %w; create it, or correct api_key_file", err)
		}
		key := strings.TrimSpace(string(text))
		if key == "" {
			return "", fmt.Errorf("the file %s with the API key is empty; write the key into it", k.APIKeyFile)
		}
		return key, nil
	}
	if k.APIKeyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(os.Getenv(k.APIKeyEnv))
	if key == "" {
		return "", fmt.Errorf("the environment variable %s is empty or not set; it must contain the API key", k.APIKeyEnv)
	}
	return key, nil
}

// checkKeyEnvironment reports what is missing for the key: the file, the variable, or the program of the command.
func (c *Config) checkKeyEnvironment(path string, k Key, report func(field, problem string)) {
	if len(k.APIKeyCommand) > 0 {
		if _, err := exec.LookPath(k.APIKeyCommand[0]); err != nil {
			report("api_key_command", fmt.Sprintf("%v; install the program, or write its path", err))
		}
		return
	}
	if _, err := k.APIKey(); err != nil {
		field, advice := "api_key_env", inWorker
		if k.APIKeyFile != "" {
			field, advice = "api_key_file", ""
		} else if _, written := c.source.lines[path+".api_key_env"]; written {
			advice += ", or leave out api_key_env for an endpoint that needs no key"
		}
		report(field, err.Error()+advice)
	}
}

// Credential returns what the requests to the model's endpoint need: the key and, with all references replaced, the headers and the query. If
// one of these refers to the key (${api_key}), it is sent only there. The errors are those of [MCPServer.ResolveEnv].
func (m Model) Credential(key string) (llm.Credential, error) {
	headers, headersErr := resolveAll("headers", m.Headers, key)
	query, queryErr := resolveAll("query", m.Query, key)
	c := llm.Credential{APIKey: key, Headers: headers, Query: query}
	if refersToKey(m.Headers) || refersToKey(m.Query) {
		c.APIKey = ""
	}
	return c, cmp.Or(headersErr, queryErr)
}

// Credential returns the headers for the requests to the MCP server, with all references replaced. If none of them refers to the key
// (${api_key}), and there is a key, the header Authorization has it as a bearer token. The errors are those of [MCPServer.ResolveEnv].
func (s MCPServer) Credential(key string) (map[string]string, error) {
	headers, err := resolveAll("headers", s.Headers, key)
	if err == nil && key != "" && !refersToKey(s.Headers) {
		all := map[string]string{"Authorization": "Bearer " + key}
		maps.Copy(all, headers)
		headers = all
	}
	return headers, err
}

func refersToKey(values map[string]string) bool {
	for _, value := range values {
		for _, ref := range reference.FindAllString(value, -1) {
			if !strings.HasPrefix(ref, "$$") && variable(ref) == apiKeyReference {
				return true
			}
		}
	}
	return false
}
