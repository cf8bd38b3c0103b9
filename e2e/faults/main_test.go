// Package faults_test tests agents under faults: at chosen points, in pairs, and at random. In each test, the model endpoint and
// the tools write down what reaches them. At the end, the test compares these records with the transcripts of the agents.
package faults_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
