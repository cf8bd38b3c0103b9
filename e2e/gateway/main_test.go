// Package gateway_test tests `starter serve` with the clients of others: what they send is answered by durable agents.
package gateway_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
