package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/redact"
)

// Secrets returns values that may be secret. A worker hides them in texts from endpoints and tools. Values that cannot be read are
// left out; [Config.CheckEnvironment] reports them. Secrets returns:
//   - of models: the API keys, and the headers and URL queries except those that are known settings
//   - of MCP servers: the environment variables, headers and URL queries
//   - of hooks: the secrets, headers, environment variables and parts of the URLs
//   - the secrets of callbacks, and the environment variables in [Shell.Env]
//   - from the worker's environment: the keys for Temporal and its codec server
func (c *Config) Secrets() []string {
	secrets := []string{os.Getenv("TEMPORAL_API_KEY")}
	add := func(value string) {
		secrets = append(append(secrets, value), strings.Fields(value)...) // the KEY of "Bearer KEY" may appear alone
	}
	add(os.Getenv("TEMPORAL_CODEC_AUTH"))
	ignore := func(string, string) {}
	for _, m := range c.Models {
		if key, err := m.APIKey(); err == nil {
			add(key)
		}
		for _, values := range []map[string]string{resolve(m.Headers, ignore), resolve(m.Query, ignore)} {
			for name, value := range values {
				if !redact.IsSetting(name) {
					add(value)
				}
			}
		}
	}
	for _, s := range c.MCPServers {
		if u, err := url.Parse(s.URL); err == nil {
			for _, values := range u.Query() {
				for _, value := range values {
					add(value)
				}
			}
		}
		for _, values := range []map[string]string{resolve(s.Env, ignore), resolve(s.Headers, ignore)} {
			for _, value := range values {
				add(value)
			}
		}
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
		for _, values := range []map[string]string{resolve(h.Headers, ignore), resolve(h.Env, ignore)} {
			for _, value := range values {
				add(value)
			}
		}
	}
	if c.Callbacks != nil {
		for _, secret := range c.Callbacks.secrets(ignore) {
			add(secret)
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

// SecretFiles returns the paths of files that may contain secrets. A worker keeps its file tools from reading them. The files need
// not exist. They are:
//   - the key files of models and the secret files of hooks
//   - the files to which callbacks, headers, hook URLs, URL queries and environment variables refer
//   - the configuration file of Temporal's clients and the private key of the TLS client
func (c *Config) SecretFiles() []string {
	var files []string
	for _, name := range sorted(c.Models) {
		m := c.Models[name]
		files = append(append(append(files, m.APIKeyFile), filesIn(m.Headers)...), filesIn(m.Query)...)
	}
	for _, name := range sorted(c.MCPServers) {
		s := c.MCPServers[name]
		files = append(append(files, filesIn(s.Env)...), filesIn(s.Headers)...)
	}
	for _, name := range sorted(c.Notify) {
		files = append(files, c.Notify[name].files()...)
	}
	files = append(files, c.Callbacks.files()...)
	temporal := os.Getenv("TEMPORAL_CONFIG_FILE")
	if dir, err := os.UserConfigDir(); err == nil {
		temporal = cmp.Or(temporal, filepath.Join(dir, "temporalio", "temporal.toml"))
	}
	files = append(files, temporal, os.Getenv("TEMPORAL_TLS_CLIENT_KEY_PATH"))
	return slices.DeleteFunc(files, func(s string) bool { return s == "" })
}

func (h Hook) files() []string {
	files := append(filesIn(h.Env), filesIn(h.Headers)...)
	files = append(files, filesIn(map[string]string{"url": h.URL})...)
	if h.SecretFile != "" {
		files = append(files, h.SecretFile)
	}
	return files
}

func filesIn(values map[string]string) []string {
	var files []string
	for _, name := range sorted(values) {
		for _, ref := range reference.FindAllString(values[name], -1) {
			if path, ok := fileOf(ref); ok && !strings.HasPrefix(ref, "$$") {
				files = append(files, path)
			}
		}
	}
	return files
}

// ProtectedFiles returns the paths of files that the file tools of a worker must not write. This is the configuration file: a model
// that could write it could give itself other tools and approvals.
func (c *Config) ProtectedFiles() []string { return []string{c.source.file} }

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
	if agent := c.userOf(fileTools...); agent != "" {
		areas = append(areas, area{"files_root", c.Tools.Root, "the file tools of agent " + agent})
	}
	if agent := c.userOf(shellTool); agent != "" {
		areas = append(areas, area{"shell.folder", c.Tools.Shell.Folder, "the commands of agent " + agent})
	}
	var problems []Problem
	check := func(path, file string) {
		for _, a := range areas {
			switch inside, err := below(a.folder, file); {
			case errors.Is(err, fs.ErrNotExist): // CheckEnvironment reports a missing file that an agent needs
			case err != nil:
				problems = append(problems, c.source.at(path, "%v", err))
			case inside:
				problems = append(problems, c.source.at(path,
					"%s is below builtin.%s (%s), where %s can read it; move it out, or set %s to another folder",
					file, a.field, a.folder, a.reader, a.field))
			}
		}
	}
	for _, name := range sorted(c.Models) {
		m, path := c.Models[name], "models."+name
		if m.APIKeyFile != "" {
			check(path+".api_key_file", m.APIKeyFile)
		}
		for _, file := range append(filesIn(m.Headers), filesIn(m.Query)...) {
			check(path, file)
		}
	}
	for _, name := range sorted(c.MCPServers) {
		for _, file := range append(filesIn(c.MCPServers[name].Env), filesIn(c.MCPServers[name].Headers)...) {
			check("mcp_servers."+name, file)
		}
	}
	for _, name := range sorted(c.Notify) {
		for _, file := range c.Notify[name].files() {
			check("notify."+name, file)
		}
	}
	for _, file := range c.Callbacks.files() {
		check("callbacks", file)
	}
	return newError(problems)
}

// below follows the symbolic links of both paths. It returns an error if one of the paths does not exist.
func below(folder, file string) (bool, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false, err
	}
	place, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false, err
	}
	for _, path := range []*string{&root, &place} {
		if *path, err = filepath.Abs(*path); err != nil {
			return false, fmt.Errorf("find the absolute path of a folder or file of the configuration: %w", err)
		}
	}
	relative, err := filepath.Rel(root, place)
	return err == nil && filepath.IsLocal(relative), nil
}
