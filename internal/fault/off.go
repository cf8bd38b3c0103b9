//go:build !faults

package fault

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
)

// DialOptions returns nil: this program has no faults but its own.
func DialOptions(converter.DataConverter) []grpc.DialOption { return nil }

// Interceptors returns nil: this program records no states.
func Interceptors() []interceptor.WorkerInterceptor { return nil }
