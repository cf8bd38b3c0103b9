// Package input reads what a person gives a command: texts, images and confirmations.
package input

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// Text returns the task or the message that the user gives an agent on a command line. It joins the arguments with spaces. If
// there are no arguments, or the only argument is "-", Text reads standard input instead and removes one newline at the end.
// The error has the code [exit.Usage] if standard input is empty. It has the same code if there are no arguments and standard
// input is a terminal.
func Text(cmd *cobra.Command, args []string) (string, error) {
	return TextUpTo(cmd, args, agent.MaxMessageBytes)
}

// TextUpTo is [Text] for a text of at most `limit` bytes. It returns a longer text, too, and the caller must refuse it. Of a longer text on
// standard input, it returns only the beginning, which is longer than `limit`.
func TextUpTo(cmd *cobra.Command, args []string, limit int) (string, error) {
	if len(args) > 1 || len(args) == 1 && args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	if file, ok := cmd.InOrStdin().(*os.File); ok && len(args) == 0 && term.IsTerminal(file.Fd()) {
		return "", exit.Errorf(exit.Usage, "the text is missing: give it as arguments, or on standard input; see `%s --help`", cmd.CommandPath())
	}
	// Two bytes above the limit show that the text is too long, even if one of them is the newline at its end.
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), int64(limit)+2))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) == 0 {
		return "", exit.Errorf(exit.Usage, "standard input is empty, so the text is missing: give it as arguments, or on standard input")
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}
