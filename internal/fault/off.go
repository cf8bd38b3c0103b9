//go:build !faults

package fault

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
)

// DialOptions returns nil, because this program was built without the tag "faults".
func DialOptions(converter.DataConverter) []grpc.DialOption { return nil }

// Interceptors returns nil, because this program was built without the tag "faults".
func Interceptors() []interceptor.WorkerInterceptor { return nil }
