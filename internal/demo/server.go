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

// The usual ports, which are taken where they are free.
const (
	usualPort   = 7233
	usualUIPort = 8233
)

// dialTimeout bounds the first contact with a server that is known to answer.
const dialTimeout = 10 * time.Second

// startServer starts a Temporal server, on free ports where one of the usual ones is in use.
func startServer(ctx context.Context, progress *screen) (*devserver.Server, error) {
	options := devserver.Options{Port: usualPort, UIPort: usualUIPort, Progress: progress, Waiting: progress.working, SearchAttributes: workflows.AttributeTypes()}
	server, err := devserver.Start(ctx, options)
	if err == nil || ctx.Err() != nil {
		return server, err
	}
	// The port was in use, or another program took it between the look at it and the start. Where
	// it is something else, the second error says so too.
	if !errors.As(err, new(*devserver.PortInUseError)) {
		fmt.Fprintln(progress, "Temporal could not start on the usual ports; it starts on others.")
	}
	options.Port, options.UIPort = 0, 0
	return devserver.Start(ctx, options)
}

// dial connects to the demo's own server, whatever the environment says of others.
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
