// Package cli_test tests the commands of starter and worker, and what they say when something is wrong.
package cli_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
