// Package calls_test tests calls of models and tools: answers, long conversations, results of any size, endpoints that fail, and
// recorded conversations.
package calls_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	os.Exit(world.Main(m))
}
