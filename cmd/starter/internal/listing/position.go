package listing

import (
	"errors"
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
func At(position string) (client.Entry, error) {
	part, text, _ := strings.Cut(position, ":")
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil || at.IsZero():
	case part == "started":
		return client.Entry{Started: at}, nil
	case part == "ended":
		return client.Entry{Started: at, Ended: at}, nil
	}
	return client.Entry{}, errors.New("not a position that list has printed, such as started:2026-01-31T12:00:00Z")
}
