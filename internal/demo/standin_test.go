package demo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

func TestStandInQuotesWhatTheFileSays(t *testing.T) {
	for file, want := range map[string]string{
		"package p\n\n// One thing. Two\n// things. Three.\nfunc f() {}\n// Four.\n": "One thing. Two things.",
		"# Title\n\nA text. And more. And more.\n":                                   "Title A text. And more.",
		"":                       "",
		"// Only one\npackage p": "Only one",
	} {
		require.Equal(t, want, firstSentences(file), file)
	}
}

// A user may send any task to the agents of a demo that was kept. The reader reads the file that the task names.
func TestStandInReadsTheFileThatATaskNames(t *testing.T) {
	about := subject{file: "agent/key.go"}
	for task, want := range map[string]string{
		"Read README.md, please.": "README.md",
		"What is here?":           "agent/key.go",
	} {
		calls := scripted(about, []llm.Message{{Role: llm.User, Content: task}}, false)
		require.Len(t, calls, 1)
		require.Contains(t, calls[0].Arguments, `"path":"`+want+`"`)
	}
}
