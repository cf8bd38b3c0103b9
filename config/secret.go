package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/internal/redact"
)

// Secrets returns values that may be secret. A worker hides them in texts from endpoints and tools. Values that cannot be read are
// left out; [Config.CheckEnvironment] reports them. Secrets returns:
//   - of models: the API keys, and the headers and URL queries except those that are known settings
//   - of MCP servers: the environment variables, headers, URL queries and secrets of OAuth clients
//   - of hooks: the secrets, headers, environment variables and parts of the URLs
//   - the headers of the tokens of callers, the secrets of callbacks, and the environment variables in [Shell.Env]
//   - from the worker's environment: the keys for Temporal and its codec server, and the keys that encrypt payloads
func (c *Config) Secrets() []string {
	secrets := []string{os.Getenv("TEMPORAL_API_KEY")}
	add := func(values ...string) {
		for _, value := range values {
			secrets = append(append(secrets, value), strings.Fields(value)...) // the KEY of "Bearer KEY" may appear alone
		}
	}
	ignore := func(string, string) {}
	addEach := func(values map[string]string) {
		for _, value := range resolveEach("", values, "", ignore) {
			add(value)
		}
	}
	add(os.Getenv("TEMPORAL_CODEC_AUTH"))
	add(encryption.SecretsOfEnvironment()...)
	for _, m := range c.Models {
		if key, err := m.APIKey(); err == nil {
			add(key)
		}
		for _, values := range []map[string]string{maps.Clone(m.Headers), maps.Clone(m.Query)} {
			maps.DeleteFunc(values, func(name, _ string) bool { return redact.IsSetting(name) })
			addEach(values)
		}
	}
	for _, s := range c.MCPServers {
		if u, err := url.Parse(s.URL); err == nil {
			for _, values := range u.Query() {
				add(values...)
			}
		}
		if key, err := s.APIKey(); err == nil {
			add(key)
		}
		for _, client := range s.oauthClients() {
			if secret, err := client.Secret(); err == nil {
				add(secret)
			}
		}
		addEach(s.Env)
		addEach(s.Headers)
	}
	if c.Tools.Shell != nil {
		for _, name := range c.Tools.Shell.Env {
			add(os.Getenv(name))
		}
	}
	for _, h := range c.Notify {
		if secret, err := h.Secret(); err == nil {
			add(secret)
		}
		if address, err := h.ResolveURL(); err == nil {
			secrets = append(secrets, redact.URLParts(address)...)
		}
		addEach(h.Headers)
		addEach(h.Env)
	}
	if c.CallerTokens != nil {
		addEach(c.CallerTokens.Headers)
	}
	if c.Callbacks != nil {
		add(c.Callbacks.secrets(ignore)...)
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

// SecretFiles returns the paths of files that may contain secrets. A worker keeps its file tools from reading them. The files need
// not exist. They are:
//   - the key files of models and the secret files of hooks
//   - the files to which callbacks, OAuth clients, headers, hook URLs, URL queries and environment variables refer
//   - the configuration file of Temporal's clients and the private key of the TLS client
//   - the file with the keys that encrypt payloads
func (c *Config) SecretFiles() []string {
	var files []string
	for _, f := range c.secretFiles() {
		files = append(files, f.path)
	}
	temporal := os.Getenv("TEMPORAL_CONFIG_FILE")
	if dir, err := os.UserConfigDir(); err == nil {
		temporal = cmp.Or(temporal, filepath.Join(dir, "temporalio", "temporal.toml"))
	}
	files = append(files, temporal, os.Getenv("TEMPORAL_TLS_CLIENT_KEY_PATH"), os.Getenv(encryption.KeysFileEnv))
	return slices.DeleteFunc(files, func(s string) bool { return s == "" })
}

// secretFile is a file that may contain a secret, and the path of the value in the configuration that names the file.
type secretFile struct{ field, path string }

func (c *Config) secretFiles() []secretFile {
	var files []secretFile
	add := func(field, path string) {
		if path != "" {
			files = append(files, secretFile{field, path})
		}
	}
	addReferences := func(field string, mappings ...map[string]string) {
		for _, values := range mappings {
			for _, name := range sorted(values) {
				for _, ref := range reference.FindAllString(values[name], -1) {
					if path, ok := fileOf(ref); ok && !strings.HasPrefix(ref, "$$") {
						add(field, path)
					}
				}
			}
		}
	}
	for _, name := range sorted(c.Models) {
		m, field := c.Models[name], "models."+name
		add(field+".api_key_file", m.APIKeyFile)
		add(field+".tls_key_file", m.TLS.KeyFile)
		addReferences(field, m.Headers, m.Query)
	}
	for _, name := range sorted(c.MCPServers) {
		s, field := c.MCPServers[name], "mcp_servers."+name
		add(field+".api_key_file", s.APIKeyFile)
		add(field+".tls_key_file", s.TLS.KeyFile)
		addReferences(field, s.Env, s.Headers)
		clients := s.oauthClients()
		for _, name := range sorted(clients) {
			addReferences(field+"."+name, map[string]string{"client_secret": clients[name].ClientSecret})
		}
	}
	for _, name := range sorted(c.Notify) {
		h, field := c.Notify[name], "notify."+name
		addReferences(field, h.Env, h.Headers, map[string]string{"url": h.URL})
		add(field, h.SecretFile)
	}
	if t := c.CallerTokens; t != nil {
		add("caller_tokens.tls_key_file", t.TLS.KeyFile)
		addReferences("caller_tokens", t.Headers)
	}
	if c.Callbacks != nil {
		for _, ref := range c.Callbacks.references() {
			addReferences("callbacks", map[string]string{"": ref})
		}
	}
	return files
}

// ProtectedFiles returns the paths of files that the file tools of a worker must not write: the configuration file and the files with
// instructions. A model that could write them could give itself other tools, approvals and instructions.
func (c *Config) ProtectedFiles() []string {
	files := []string{c.source.file}
	for _, name := range sorted(c.Agents) {
		if file := c.Agents[name].InstructionsFile; file != "" {
			files = append(files, file)
		}
	}
	return files
}

var fileTools = []string{"list_files", "read_file", "search_files", "write_file", "edit_file"}

const shellTool = "shell"

// userOf returns the name of an agent that has one of the tools; "" if none has. The tool `shell` counts only if `builtin.shell` is
// set, because without it, `shell` is a Go tool with this name.
func (c *Config) userOf(tools ...string) string {
	for _, name := range sorted(c.Agents) {
		for _, t := range c.Agents[name].Tools {
			if slices.Contains(tools, t) && (t != shellTool || c.Tools.Shell != nil) {
				return name
			}
		}
	}
	return ""
}

// CheckFiles returns an [*Error] if a file with a secret is where the file tools of an agent could read it: below `files_root`. If an agent
// has the tool `shell`, such a file must not be below the working folder of the commands either, although commands can also read all other
// files of the worker's user. A file whose place the system does not tell is an error, too, unless the file does not exist. If no agent has
// such a tool, CheckFiles returns nil. A worker calls CheckFiles before it starts.
//
// A file with a secret is the key file of a model, the secret file of a hook, or a file to which a callback's secret, a header, a hook's
// URL, a URL query or an environment variable refers. CheckFiles follows symbolic links. A link below `files_root` to a file elsewhere is
// allowed, because the file tools do not follow the link.
func (c *Config) CheckFiles() error {
	type area struct{ field, folder, reader string }
	var areas []area
	if agent := c.userOf(fileTools...); agent != "" && !c.follows("builtin.files_root") {
		areas = append(areas, area{"files_root", c.Tools.Root, "the file tools of agent " + agent})
	}
	if agent := c.userOf(shellTool); agent != "" && !c.follows("builtin.shell.folder") {
		areas = append(areas, area{"shell.folder", c.Tools.Shell.Folder, "the commands of agent " + agent})
	}
	var problems []Problem
	for _, file := range c.secretFiles() {
		for _, a := range areas {
			switch inside, err := below(a.folder, file.path); {
			case errors.Is(err, fs.ErrNotExist): // CheckEnvironment reports a missing file that an agent needs
			case err != nil:
				problems = append(problems, c.source.at(file.field, "%v", err))
			case inside:
				problems = append(problems, c.source.at(file.field,
					"%s is below builtin.%s (%s), where %s can read it; move it out, or set %s to another folder",
					file.path, a.field, a.folder, a.reader, a.field))
			}
		}
	}
	return c.found(problems)
}

// below follows the symbolic links of both paths. It returns an error if one of the paths does not exist.
func below(folder, file string) (bool, error) {
	for _, path := range []*string{&folder, &file} {
		followed, err := filepath.EvalSymlinks(*path)
		if err != nil {
			return false, err
		}
		if *path, err = filepath.Abs(followed); err != nil {
			return false, fmt.Errorf("find the absolute path of a folder or file of the configuration: %w", err)
		}
	}
	relative, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(relative), nil
}
