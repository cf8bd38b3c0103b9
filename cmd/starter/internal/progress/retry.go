package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// RetryText describes a call that failed and is tried again. If the worker has no definition of the agent, the text also
// contains the command that ends the agent. For this command, RetryText needs the agent's ID.
func RetryText(r client.Retry, id string) string {
	if r.Class == protocol.UnknownAgent {
		return fmt.Sprintf("%s. The agent waits some minutes for a worker that has its definition; if the name is wrong, end the agent with `%s`.",
			printable.Line(r.Message, 500), shellword.Starter("cancel", id))
	}
	// The text of a model's failure begins with "model: ".
	text := printable.Line(r.Message, 300)
	if !strings.HasPrefix(text, r.What+": ") {
		text = printable.Name(r.What) + ": " + text
	}
	if r.Unserved() {
		return text + "."
	}
	if wait := time.Until(r.Next).Round(time.Second); wait > 0 {
		return fmt.Sprintf("%s; %s starts in %d s%s", text, attemptText(r.Attempt, r.Limit), int(wait.Seconds()), untilText(r.Until))
	}
	return fmt.Sprintf("%s; %s is running%s", text, attemptText(r.Attempt, r.Limit), untilText(r.Until))
}

// untilText returns a text such as "; it is tried until 15:04"; "" for the zero time.
func untilText(until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return "; it is tried until " + until.Local().Format("15:04")
}

// attemptText returns a text such as "attempt 3 of 8"; a limit of 0 is unknown.
func attemptText(attempt, limit int) string {
	if limit == 0 {
		return fmt.Sprintf("attempt %d", attempt)
	}
	return fmt.Sprintf("attempt %d of %d", attempt, limit)
}
