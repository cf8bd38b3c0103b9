package exit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitCodesAreInTheHelp(t *testing.T) {
	for _, code := range []Code{OK, Failure, Usage, AgentFailed, WrongState, Unreachable, Limit, Taken, Interrupted} {
		require.Regexp(t, fmt.Sprintf(`(?m)^  %d +\w`, code), Help)
	}
}
