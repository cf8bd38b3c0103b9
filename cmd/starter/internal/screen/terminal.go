package screen

import (
	"io"
	"os"

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
