// Package recovery_test tests that an agent goes on after a crash, a network failure, a reset, a termination, a resume
// or a deploy. Nothing is paid for or done twice.
package recovery_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	if os.Getenv(counterEnv) != "" {
		serveCounter()
		return
	}
	os.Exit(world.Main(m))
}
