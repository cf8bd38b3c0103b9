// Package settle settles calls that wait for somebody outside: a person decides on them, or gives their answers and results.
package settle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
)

// MaxShown is the largest number of characters of arguments or of a question that `starter inbox` shows without --json.
const MaxShown = 4000

// AgentText returns the beginning of a line about a call that waits: which agent has made the call, how long the call has waited, and how
// long it may still wait.
func AgentText(w client.Waits, now time.Time) string {
	limit := ""
	if w.Call.Wait.Until != 0 {
		limit = ", at most " + view.Age(time.UnixMilli(w.Call.Wait.Until).Sub(now)) + " more"
	}
	return fmt.Sprintf("%s (%s), for %s%s: ", printable.Name(w.AgentID), printable.Name(w.Agent), view.Age(now.Sub(time.UnixMilli(w.Since))), limit)
}

// ArgumentsText returns the arguments of a call on one line, with at most `limit` characters. `cut` reports whether their end is left out.
//
// A person decides on the arguments, so white space in strings stays. Unsafe characters (see [printable.JSON]) and unusual spaces become
// escapes.
func ArgumentsText(arguments string, limit int) (text string, cut bool) {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(arguments)) == nil {
		var b strings.Builder
		for _, r := range string(printable.JSON(compact.Bytes())) {
			if r != ' ' && unicode.IsSpace(r) { // a wide space, for example, which looks like an ordinary one
				fmt.Fprintf(&b, `\u%04x`, r)
				continue
			}
			b.WriteRune(r)
		}
		arguments = b.String()
	} else {
		arguments = printable.Line(arguments, math.MaxInt)
	}
	if runes := []rune(arguments); len(runes) > limit {
		return string(runes[:limit-1]) + "…", true
	}
	return arguments, false
}

func namedCall(w client.Waits) string {
	return w.Handle() + " " + printable.Name(w.Call.Name) + " of agent " + printable.Name(w.AgentID)
}
