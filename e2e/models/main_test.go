// Package models_test runs agents against stand-ins for the providers of models. The stand-ins refuse what the providers refuse.
package models_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
