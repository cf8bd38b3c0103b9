// Package examples_test tests what a newcomer runs first: the README, the demo, the programs and configurations in
// examples/, and the containers.
package examples_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
