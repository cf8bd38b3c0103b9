//go:build !faults

package fault

import (
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
)

// DialOptions returns nil: this program has no faults but its own.
func DialOptions(converter.DataConverter) []grpc.DialOption { return nil }
