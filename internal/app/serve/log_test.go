package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogOptions(t *testing.T) {
	for _, k := range []struct {
		options LogOptions
		lowest  slog.Level
		problem string
	}{
		{LogOptions{}, slog.LevelWarn, ""},
		{LogOptions{Verbose: true}, slog.LevelInfo, ""},
		{LogOptions{Level: "debug", Format: "json"}, slog.LevelDebug, ""},
		{LogOptions{Level: "error", Format: "text"}, slog.LevelError, ""},
		{LogOptions{Level: "loud"}, 0, `--log-level is "loud": write debug, info, warn or error`},
		{LogOptions{Format: "xml"}, 0, `--log-format is "xml": write text or json`},
		{LogOptions{Verbose: true, Level: "warn"}, 0, `--verbose is --log-level info, and --log-level is "warn": leave one of them out`},
	} {
		if k.problem != "" {
			require.EqualError(t, k.options.check(), k.problem)
			continue
		}
		require.NoError(t, k.options.check())
		var out bytes.Buffer
		h := k.options.handler(&out)
		require.True(t, h.Enabled(t.Context(), k.lowest))
		require.False(t, h.Enabled(t.Context(), k.lowest-1))
		slog.New(h).Error("it is broken", "agent", "x")
		require.Equal(t, k.options.JSON(), json.Valid(out.Bytes()))
		require.Contains(t, out.String(), "it is broken")
	}
}
