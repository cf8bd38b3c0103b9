// Package children_test tests sub-agents: that they are found again, waited for, cancelled, and told of, whatever happens to either side.
package children_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
