package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/workflows"
)

// usualPort and usualUIPort are the ports that startServer tries first. They are the defaults of the Temporal CLI.
const (
	usualPort   = 7233
	usualUIPort = 8233
)

// dialTimeout limits the time to connect to the server, which is known to answer.
const dialTimeout = 10 * time.Second

// startServer starts a Temporal server. If it cannot start on the usual ports, startServer tries free ports.
func startServer(ctx context.Context, progress *screen) (*devserver.Server, error) {
	options := devserver.Options{Port: usualPort, UIPort: usualUIPort, Progress: progress, Waiting: progress.working, SearchAttributes: workflows.AttributeTypes()}
	server, err := devserver.Start(ctx, options)
	if err == nil || ctx.Err() != nil {
		return server, err
	}
	// A port is in use, or another program took it between the check and the start. If the cause is something else, the second
	// start fails in the same way, and its error is returned.
	if !errors.As(err, new(*devserver.PortInUseError)) {
		fmt.Fprintln(progress, "Temporal could not start on the usual ports; it starts on others.")
	}
	options.Port, options.UIPort = 0, 0
	return devserver.Start(ctx, options)
}

// dial connects to the demo's own server. It ignores the TEMPORAL_* variables of the environment.
func dial(ctx context.Context, server *devserver.Server) (sdk.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	temporal, err := sdk.DialContext(ctx, sdk.Options{
		HostPort: server.Address(), Namespace: server.Namespace(),
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", server.Address(), err)
	}
	return temporal, nil
}
