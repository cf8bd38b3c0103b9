// Package faults_test tests agents under faults that come at chosen points, in pairs and at random. A ledger on the far side is held
// against the transcripts.
package faults_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
