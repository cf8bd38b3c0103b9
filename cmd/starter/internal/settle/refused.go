package settle

import (
	"errors"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// refused gives an error the code [exit.WrongState] if no such call waits or the agent has refused the command.
func refused(err error) error {
	missing, none := errors.AsType[*client.NoCallError](err)
	switch {
	case none && missing.WaitsFor != "":
		return exit.Errorf(exit.WrongState, "%w: use %s", err, settledBy[missing.WaitsFor])
	case none && missing.Call != "":
		return exit.Errorf(exit.WrongState, "%w: see `starter inbox`", err)
	case none, errors.As(err, new(*client.AmbiguousCallError)), errors.Is(err, client.ErrRefused):
		return exit.Errorf(exit.WrongState, "%w", err)
	}
	return err
}

var settledBy = map[client.WaitsFor]string{
	client.WaitsForApproval: "`starter approve` or `starter deny`",
	client.WaitsForAnswer:   "`starter answer`",
	client.WaitsForResult:   "`starter complete`",
}
