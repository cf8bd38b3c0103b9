package dial

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
)

// NoServer returns the error for an address at which no Temporal server answers.
func NoServer(address string) error {
	return fmt.Errorf("no Temporal at %s: start one with `go run ./cmd/starter dev`, or set TEMPORAL_ADDRESS", address)
}

// Problem says why [go.temporal.io/sdk/client.DialContext] cannot connect to a server, and what to do. The result wraps err.
func Problem(address string, err error) error {
	switch {
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return fmt.Errorf("the Temporal server at %s refuses the connection: %w; check TEMPORAL_API_KEY or the TLS certificate", address, err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*serviceerror.Unavailable)), errors.As(err, new(*serviceerror.DeadlineExceeded)):
		return fmt.Errorf("%w (%w)", NoServer(address), err)
	}
	return fmt.Errorf("connect to Temporal at %s: %w; check the address, TEMPORAL_API_KEY and the TLS settings", address, err)
}
