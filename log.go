package reagent

import (
	"log/slog"

	"github.com/reagent-dev/reagent/internal/logs"
)

// LogHandler returns a handler for the logger of a Temporal client whose workers run agents. It passes entries on to the handler `next`. As in
// the log of the program worker, the entries of Temporal's SDK about agents then have the fields agent, key, run and trace, and from the level
// Info on nothing that people, models or tools say: of an error, only its class. Without it, the SDK logs the text of each failed call.
// [Options.Logger] needs no LogHandler.
func LogHandler(next slog.Handler) slog.Handler { return logs.Handler(next) }
