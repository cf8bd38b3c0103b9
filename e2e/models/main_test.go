// Package models_test runs agents against stand-ins for the providers of models. The stand-ins refuse what the providers refuse.
package models_test

import (
	"os"
	"testing"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

func TestMain(m *testing.M) {
	text, _ := os.ReadFile("../../docs/providers.md")
	for _, found := range keyName.FindAllStringSubmatch(string(text), -1) {
		_ = os.Setenv(found[1], "key-of-a-stand-in") // the workers inherit it
	}
	os.Exit(world.Main(m))
}
