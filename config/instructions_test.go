package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file with instructions that cannot be used is a mistake in the configuration, with the line and the field that name the file.
func TestFileWithInstructionsIsChecked(t *testing.T) {
	dir := t.TempDir()
	parse := func(agent string) (*Config, error) {
		return Parse(filepath.Join(dir, "agents.yaml"), []byte("models: {m: {model: x}}\nagents:\n  a:\n    model: m\n"+agent))
	}
	for name, content := range map[string]string{
		"good": "\uFEFFBe brief.\r\n", "blank": " \n\t", "latin": "caf\xe9", "large": strings.Repeat("x", MaxInstructionsFile+1),
		"largest": strings.Repeat("x", MaxInstructionsFile),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".md"), []byte(content), 0o600))
	}
	cfg, err := parse("    instructions_file: good.md\n")
	require.NoError(t, err)
	require.Equal(t, "Be brief.\r\n", cfg.Agents["a"].Instructions, "the text is sent as it is, without the byte order mark")
	require.Contains(t, cfg.ProtectedFiles(), filepath.Join(dir, "good.md"), "an agent must not give itself other instructions")
	cfg, err = parse("    instructions_file: " + filepath.Join(dir, "largest.md") + "\n")
	require.NoError(t, err)
	require.Len(t, cfg.Agents["a"].Instructions, MaxInstructionsFile)

	for field, want := range map[string]string{
		"    instructions_file: none.md\n":                      ":5: agents.a.instructions_file: the file with the instructions cannot be read: stat " + dir + "/none.md: no such file",
		"    instructions_file: .\n":                            ":5: agents.a.instructions_file: " + dir + " is not a regular file; write the path of a text file",
		"    instructions_file: ''\n":                           ":5: agents.a.instructions_file: is empty; write the path",
		"    instructions_file: blank.md\n":                     ":5: agents.a.instructions_file: " + dir + "/blank.md is empty; write the instructions into it",
		"    instructions_file: latin.md\n":                     ":5: agents.a.instructions_file: " + dir + "/latin.md is not a text in UTF-8",
		"    instructions_file: large.md\n":                     ":5: agents.a.instructions_file: " + dir + "/large.md is larger than 1 MiB",
		"    instructions_file: [good.md]\n":                    ":5: agents.a.instructions_file: must be a text, not a list",
		"    instructions: x\n    instructions_file: good.md\n": ":3: agents.a: has both instructions and instructions_file; keep one",
	} {
		_, err := parse(field)
		require.ErrorContains(t, err, want)
		require.Equal(t, 0, strings.Count(err.Error(), "\n"), "one mistake has one line: %v", err)
	}
}
