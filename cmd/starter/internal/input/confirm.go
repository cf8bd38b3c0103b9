package input

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Confirm asks the user a question and reports whether the answer is "y" or "yes". After another answer, it says what the command has not
// done: `undone`, such as "nothing was deleted". An empty standard input is an error, because a script without the flag `--yes` must notice
// that the command has done nothing. If ctx ends, the error has the code [exit.Interrupted].
func Confirm(ctx context.Context, stdin io.Reader, out io.Writer, question, undone string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	var line string
	var err error
	read := make(chan struct{})
	go func() { // a read cannot be interrupted; the goroutine ends with the input or the program
		line, err = bufio.NewReader(stdin).ReadString('\n')
		close(read)
	}()
	select {
	case <-read:
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, exit.Errorf(exit.Interrupted, "interrupted; %s", undone)
	}
	if err != nil && line == "" {
		fmt.Fprintln(out)
		return false, exit.Errorf(exit.Usage, "the question was not answered, and %s: answer y, or give --yes", undone)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	fmt.Fprintln(out, strings.ToUpper(undone[:1])+undone[1:]+".")
	return false, nil
}

// Interactive reports whether a person can read a question of the command on its standard error, and answer on its standard input.
func Interactive(cmd *cobra.Command) bool {
	for _, stream := range []any{cmd.InOrStdin(), printable.Unwrap(cmd.ErrOrStderr())} {
		if file, ok := stream.(*os.File); !ok || !term.IsTerminal(file.Fd()) {
			return false
		}
	}
	return true
}
