package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Redraws reports whether a command's standard output is a terminal that can redraw lines. A terminal with TERM=dumb cannot.
func Redraws(out io.Writer) bool {
	file, ok := printable.Unwrap(out).(*os.File)
	return ok && term.IsTerminal(file.Fd()) && os.Getenv("TERM") != "dumb"
}

// Styled reports whether a command may write colours and weights to an output: the output is a terminal that knows them, and the environment
// variable NO_COLOR is not set.
func Styled(out io.Writer) bool { return Redraws(out) && os.Getenv("NO_COLOR") == "" }

// Raw returns the writer for a text that may have styles. If the output is [Styled], it is the terminal itself, which escapes nothing, so all
// text of unknown origin must be safe already: see [printable.Text]. Otherwise it is the output as it is.
func Raw(out io.Writer) io.Writer {
	if Styled(out) {
		return printable.Unwrap(out)
	}
	return out
}

// Size returns the size of the terminal that an output is, and 80 and 24 if it is none or does not say.
func Size(out io.Writer) (width, height int) {
	if file, ok := printable.Unwrap(out).(*os.File); ok {
		if width, height, err := term.GetSize(file.Fd()); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// Prose returns a function for the texts of models. If the output is [Styled], the function renders Markdown for the width of the terminal.
// Otherwise, it returns the text as it is. In both cases, the result is safe to write to [Raw], and does not end with a line break. The
// function must not be used by several goroutines at once.
func Prose(out io.Writer) func(text string) string {
	if !Styled(out) {
		return printable.Text
	}
	var md Markdown
	return func(text string) string {
		width, _ := Size(out)
		return strings.Join(md.Render(text, width), "\n")
	}
}

// PrintProse writes a text of a model and a line break to an output: see [Prose].
func PrintProse(out io.Writer, text string) error {
	_, err := fmt.Fprintln(Raw(out), Prose(out)(text))
	return err
}
