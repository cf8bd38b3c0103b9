package view

import (
	"fmt"

	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/internal/proposal"
)

// AllCommand is the command that shows the arguments of all calls that wait, without leaving anything out.
const AllCommand = "starter inbox --full"

// ArgumentsText returns the arguments of a call in the form in which a person judges them, in indented lines. Unless `full` is set, long
// arguments are cut, and a line says how much is left out and how to see it. `styled` says whether the text has colours.
func ArgumentsText(tool, arguments string, full, styled bool) string {
	f, left := proposal.Of(tool, arguments), ""
	if !full {
		f, left = f.Short(": `" + AllCommand + "` shows them")
	}
	text := screen.FormText(f, argumentsIndent, styled)
	if left != "" {
		text += fmt.Sprintf("%s… %s are left out here, and a decision is about all of them: `%s` shows them\n", argumentsIndent, left, AllCommand)
	}
	return text
}

const argumentsIndent = "    "
