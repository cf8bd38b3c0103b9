// Package children_test tests sub-agents: they are found again, waited for and cancelled, and their answers arrive,
// whatever happens to them or to their parents.
package children_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
