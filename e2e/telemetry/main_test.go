// Package telemetry_test tests what worker and starter export, with a collector and a parser of metrics that others wrote.
package telemetry_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
