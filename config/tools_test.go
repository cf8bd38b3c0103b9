package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a worker cannot offer is reported at once, each with its line and field, before the worker connects to anything.
func TestToolsAndFoldersAreChecked(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	parse := func(text string) error {
		cfg, err := Parse(filepath.Join(dir, "agents.yaml"), []byte("models: {m: {model: x}}\nmcp_servers: {notes: {command: [x]}}\n"+text))
		require.NoError(t, err)
		return cfg.CheckTools()
	}
	require.NoError(t, parse("external: {deploy: {}}\nbuiltin: {shell: {}}\n"+
		"agents: {a: {model: m, tools: [calculator, current_time, http_get, list_files, read_file, search_files, write_file, edit_file, shell, ask_user, read_result, deploy, notes.x, notes.*]}}\n"))
	require.NoError(t, parse("builtin: {shell: {folder: none}}\nagents: {a: {model: m}}\n"), "no agent has the shell")
	require.EqualError(t, parse("builtin:\n  files_root: none\n  shell:\n    folder: file\nagents:\n  a: {model: m, tools: [shell]}\n  b:\n    model: m\n    tools:\n      - notes.x\n      - askuser\n      - zzzzzz\n"), strings.Join([]string{
		dir + "/agents.yaml:4: builtin.files_root: the folder " + dir + "/none does not exist",
		dir + "/agents.yaml:6: builtin.shell.folder: " + dir + "/file is not a folder",
		dir + `/agents.yaml:13: agents.b.tools[1]: "askuser" is not one of the tools; did you mean "ask_user"?`,
		dir + `/agents.yaml:14: agents.b.tools[2]: "zzzzzz" is not one of the tools; write one of: ask_user, calculator, current_time, edit_file, http_get, list_files, read_file, read_result, search_files, shell, write_file`,
	}, "\n"))
	require.EqualError(t, parse("agents: {a: {model: m, tools: [shell]}}\n"),
		dir+"/agents.yaml:3: agents.a.tools[0]: the tool shell is not configured; write shell: {} in builtin, or remove it here")
}
