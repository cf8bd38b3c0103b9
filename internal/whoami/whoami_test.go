package whoami_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/whoami"
)

// The user has a name, also in a process of cron or of a container, which has no environment variables.
func TestUserHasANameWithoutEnvironment(t *testing.T) {
	for _, name := range []string{"USER", "USERNAME", "LOGNAME"} {
		t.Setenv(name, "")
	}
	require.NotEmpty(t, whoami.User())
	t.Setenv("USER", "ann")
	require.Equal(t, "ann", whoami.User())
}
