// Package history_test tests what Temporal stores and shows: the size of histories, search attributes, the Web UI and
// encrypted payloads. It also tests that API keys are not stored.
package history_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
