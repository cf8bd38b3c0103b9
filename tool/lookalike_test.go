package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

func TestAttackNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"shell", "Shell"}, {"shell", "SHELL"}, {"shell", "sh_ll"}, {"shell", "_hell"}, {"shell", "shell_"}, {"shell", "_shell"}, {"shell", "s-h-e-l-l"},
		{"shell", "she11"}, {"shell", "sheII"}, {"shell", "shel1"}, {"shell", "Sh_ll"}, {"read_file", "read-file"}, {"read_file", "readFile"}, {"read_file", "read_fiIe"},
		{"http_get", "http_g_t"}, {"clock", "cl0ck"}, {"turn", "tum"}, {"view", "vievv"}, {"current_time", "cur_ent_t_me"},
	} {
		require.True(t, tool.LookAlike(pair[0], pair[1]), pair)
		require.True(t, tool.LookAlike(pair[1], pair[0]), pair)
	}
	for _, pair := range [][2]string{
		{"shell", "shelf"}, {"shell", "bash"}, {"shell", "shells"}, {"shell", "_____"}, {"shell", "____l"}, {"user_get", "users_get"}, {"a_b", "b_a"},
		{"read_file", "read_files"}, {"____", "___"}, {"get", "set"}, {"t1", "t2"}, {"t1", "t11"}, {"item_9", "item_10"},
	} {
		require.False(t, tool.LookAlike(pair[0], pair[1]), pair)
		require.False(t, tool.LookAlike(pair[1], pair[0]), pair)
	}
}

// A name in another alphabet reaches a model with "_" for each foreign letter, so it cannot look like more than the rest of its letters.
func TestAttackForeignLettersLookLikeNothing(t *testing.T) {
	t.Parallel()
	free := func(string) bool { return false }
	for name, alike := range map[string]bool{
		"sh\u0435ll": true, "\u0455hell": true, // one Cyrillic letter
		"\u0455\u04bb\u0435ll": false, "\uff53\uff48\uff45\uff4c\uff4c": false, // the model sees ___ll and _____
		"shell\u200b": true, "shell.": true, "sh ell": true,
	} {
		require.Equal(t, alike, tool.LookAlike("shell", tool.ModelName(name, free)), name)
	}
}

// fixed is a source with tools of the given names, as models see them.
type fixed []string

func (f fixed) Tools(context.Context) ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, name := range f {
		tools = append(tools, tool.MustFunc(name, "", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	return tools, nil
}

// A server cannot offer a tool that a model, or a person who approves a call, takes for a built-in tool or for one of another server.
func TestAttackLookAlikeOfAnotherSourceIsRefused(t *testing.T) {
	t.Parallel()
	r := new(tool.Registry)
	builtin, err := fixed{"shell", "read_file"}.Tools(t.Context())
	require.NoError(t, err)
	for _, each := range builtin {
		require.NoError(t, r.Add(each))
	}
	for name, tools := range map[string]fixed{
		"capital": {"run", "Shell"}, "gap": {"sh_ll"}, "tail": {"shell_"}, "camel": {"readFile"}, "notes": {"add", "getNote", "get_note"}, "mail": {"add_", "send"},
	} {
		require.NoError(t, r.AddSource(name, tools))
	}
	for pattern, want := range map[string]string{
		"capital.*":       `the names of the tools capital.Shell and shell look alike, "Shell" and "shell": set prefix or rename of the MCP server, or remove one of the tools`,
		"gap.sh_ll":       `the names of the tools gap.sh_ll and shell look alike, "sh_ll" and "shell"`,
		"tail.*":          `"shell" and "shell_"`,
		"camel.*":         `"readFile" and "read_file"`,
		"mail.add_":       "",
		"capital.run":     "",
		"notes.*":         "", // a server may have such tools: it speaks for both of them
		"notes.get_note":  "",
		"shell":           "",
		"gap.*,capital.*": "look alike",
	} {
		patterns := []string{"shell", "read_file"}
		patterns = append(patterns, strings.Split(pattern, ",")...)
		_, err := r.Resolve(t.Context(), patterns)
		if want == "" {
			require.NoError(t, err, pattern)
			continue
		}
		require.ErrorContains(t, err, want, pattern)
		require.ErrorAs(t, err, new(*tool.NameError))
	}
	_, err = r.Resolve(t.Context(), []string{"notes.*", "mail.*"})
	require.ErrorContains(t, err, `the names of the tools notes.add and mail.add_ look alike`)
	_, err = r.Resolve(t.Context(), []string{"capital.*", "notes.*"})
	require.NoError(t, err)
}
