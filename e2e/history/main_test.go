// Package history_test tests what Temporal keeps and shows: the size of histories, search attributes, the Web UI, encrypted payloads, and
// that keys stay out of it.
package history_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
