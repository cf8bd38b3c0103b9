//go:build !faults

package fault

import "google.golang.org/grpc"

// DialOptions returns nil: this program has no faults but its own.
func DialOptions() []grpc.DialOption { return nil }
