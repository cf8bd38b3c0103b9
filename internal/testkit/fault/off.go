//go:build !faults

package fault

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"google.golang.org/grpc"
)

// DialOptions returns options for the connection to Temporal. With these options, a test can kill this process at certain
// points. In this file it returns nil, because the program was built without the tag "faults".
func DialOptions(converter.DataConverter) []grpc.DialOption { return nil }

// Interceptors returns an interceptor with which a test can record the states of agents. In this file it returns nil, because
// the program was built without the tag "faults".
func Interceptors() []interceptor.WorkerInterceptor { return nil }
