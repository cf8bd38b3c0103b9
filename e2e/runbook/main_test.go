// Package runbook_test stages what docs/runbook.md is for, and runs the commands of the page as they stand there.
package runbook_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
