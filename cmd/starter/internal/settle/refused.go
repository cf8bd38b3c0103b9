package settle

import (
	"errors"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// refused adds the code [exit.WrongState] to err in two cases: no call matches, or several calls match. If a named call does not match, the
// text also says which command to use. Other errors stay unchanged.
func refused(err error) error {
	missing, none := errors.AsType[*client.NoCallError](err)
	switch {
	case none && missing.WaitsFor != "":
		return exit.Errorf(exit.WrongState, "%w: use %s", err, settledBy[missing.WaitsFor])
	case none && missing.Call != "":
		return exit.Errorf(exit.WrongState, "%w: see `%s`", err, shellword.Starter("inbox"))
	case none, errors.As(err, new(*client.AmbiguousCallError)):
		return exit.Errorf(exit.WrongState, "%w", err)
	}
	return err
}

var settledBy = map[client.WaitsFor]string{
	client.WaitsForApproval: "`starter approve` or `starter deny`",
	client.WaitsForAnswer:   "`starter answer`",
	client.WaitsForResult:   "`starter complete`",
}
