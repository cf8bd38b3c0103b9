package dial

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// unset removes variables until the test ends.
func unset(t *testing.T, names ...string) {
	for _, name := range names {
		t.Setenv(name, "") // so that the test's end restores it
		require.NoError(t, os.Unsetenv(name))
	}
}
