package input

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
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
	line, err := ask(ctx, stdin, out, question+" [y/N] ", "answer y", undone)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(line) {
	case "y", "yes":
		return true, nil
	}
	refused(out, undone)
	return false, nil
}

// ConfirmCount is [Confirm] for what cannot be undone: the answer has to be the number that the question names.
func ConfirmCount(ctx context.Context, stdin io.Reader, out io.Writer, question string, n int, undone string) (bool, error) {
	line, err := ask(ctx, stdin, out, question+" Type the number to go on: ", "type the number", undone)
	if err != nil {
		return false, err
	}
	if line == strconv.Itoa(n) {
		return true, nil
	}
	refused(out, undone)
	return false, nil
}

func refused(out io.Writer, undone string) {
	fmt.Fprintln(out, strings.ToUpper(undone[:1])+undone[1:]+".")
}

// ask writes a prompt and returns the answer without white space around it. `how` says how to answer.
func ask(ctx context.Context, stdin io.Reader, out io.Writer, prompt, how, undone string) (string, error) {
	fmt.Fprint(out, prompt)
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
		return "", exit.Errorf(exit.Interrupted, "interrupted; %s", undone)
	}
	if err != nil && line == "" {
		fmt.Fprintln(out)
		return "", exit.Errorf(exit.Usage, "the question was not answered, and %s: %s, or give --yes", undone, how)
	}
	return strings.TrimSpace(line), nil
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
