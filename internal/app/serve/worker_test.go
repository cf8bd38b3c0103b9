package serve

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/exporter"
)

func TestNegativeCacheIsRefused(t *testing.T) {
	_, err := newWorker(t.Context(), &config.Config{}, Options{CacheAgents: -1}, slog.Default(), &exporter.Exporter{})
	require.EqualError(t, err, "--cache-agents is -1, which is negative: set it to 1 or more, or leave it out for the default of 10,000")
}
