package serve

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
)

// The values of [LogOptions].Format.
const (
	LogText = "text"
	LogJSON = "json"
)

// LogOptions say how a worker logs.
type LogOptions struct {
	// Format is [LogText] or [LogJSON]. Empty means [LogText].
	Format string
	// Level is the lowest level: "debug", "info", "warn" or "error". Empty means "warn".
	Level string
	// Verbose is the level "info" under an older name.
	Verbose bool
}

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (o LogOptions) check() error {
	if _, known := logLevels[o.Level]; !known && o.Level != "" {
		return fmt.Errorf("--log-level is %q: write debug, info, warn or error", o.Level)
	}
	if o.Format != "" && o.Format != LogText && o.Format != LogJSON {
		return fmt.Errorf("--log-format is %q: write text or json", o.Format)
	}
	if o.Verbose && o.Level != "" {
		return fmt.Errorf("--verbose is --log-level info, and --log-level is %q: leave one of them out", o.Level)
	}
	return nil
}

// JSON reports whether each entry is a JSON object.
func (o LogOptions) JSON() bool { return o.Format == LogJSON }

func (o LogOptions) handler(to io.Writer) slog.Handler {
	level := cmp.Or(o.Level, "warn")
	if o.Verbose {
		level = "info"
	}
	options := &slog.HandlerOptions{Level: logLevels[level]}
	if o.JSON() {
		return slog.NewJSONHandler(to, options)
	}
	return slog.NewTextHandler(to, options)
}
