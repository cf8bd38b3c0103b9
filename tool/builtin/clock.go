package builtin

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata" // many container images have no time zone files

	"github.com/reagent-dev/reagent/tool"
)

type currentTimeIn struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone such as Europe/Berlin; UTC if left out"`
}

func currentTime(now func() time.Time) tool.Tool {
	return tool.MustFunc("current_time", "Tells the current date, time and weekday.", tool.ReadOnly,
		func(_ context.Context, in currentTimeIn) (string, error) {
			zone, err := time.LoadLocation(in.Timezone)
			if err != nil || in.Timezone == "Local" { // "Local" would be the worker's zone, which means nothing to the model
				return "", fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Berlin", in.Timezone)
			}
			t := now().In(zone)
			return fmt.Sprintf("%s (%s, %s)", t.Format(time.RFC3339), t.Weekday(), zone), nil
		})
}
