// Package runbook_test causes the failures that docs/runbook.md describes, and runs the commands of the page without a change.
package runbook_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
