package listing

import (
	"strings"
	"time"

	"github.com/reagent-dev/reagent/client"
)

// Position returns the place of an agent in the list, as the flag --after takes it: "started:" and the time of the start, or "ended:" and the
// time of the end. The list has two parts with an order each: see [client.Client.List].
func Position(e client.Entry) string {
	if e.Ended.IsZero() {
		return "started:" + e.Started.UTC().Format(time.RFC3339Nano)
	}
	return "ended:" + e.Ended.UTC().Format(time.RFC3339Nano)
}

// At is the inverse of [Position]. The entry has only the times.
func At(position string) (client.Entry, bool) {
	part, text, _ := strings.Cut(position, ":")
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil || at.IsZero():
		return client.Entry{}, false
	case part == "started":
		return client.Entry{Started: at}, true
	case part == "ended":
		return client.Entry{Started: at, Ended: at}, true
	}
	return client.Entry{}, false
}
