package doctor

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

// maxFinding is the largest number of characters of a finding.
const maxFinding = 600

func finding(level object.Level, text, cure string, commands []string) object.Finding {
	return object.Finding{Level: level, Finding: printable.Line(text, maxFinding), Cure: cure, Commands: append([]string{}, commands...)}
}

func well(format string, args ...any) object.Finding {
	return finding(object.Well, fmt.Sprintf(format, args...), "", nil)
}

// unchecked says what was not checked, and why.
func unchecked(text string) object.Finding { return finding(object.Unchecked, text, "", nil) }

// warn and wrong return a finding with its cure. The commands are those in the text of the cure.
func warn(text, cure string, commands ...string) object.Finding {
	return finding(object.Warning, text, cure, commands)
}

func wrong(text, cure string, commands ...string) object.Finding {
	return finding(object.Wrong, text, cure, commands)
}

// failed is the finding of a check whose request to Temporal has failed. A missing permission is no problem of the agents.
func failed(what string, err error) object.Finding {
	switch {
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return unchecked(fmt.Sprintf("%s: Temporal does not permit it with this key or certificate: %v", what, err))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*serviceerror.DeadlineExceeded)):
		return wrong(what+": no answer in time", "look at the load of the Temporal server, and repeat `starter doctor`", "starter doctor")
	}
	return wrong(fmt.Sprintf("%s: %v", what, err), "look at the log of the Temporal server, and repeat `starter doctor`", "starter doctor")
}

// verb returns the verb for a number of things.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
