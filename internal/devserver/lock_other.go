//go:build !unix

package devserver

import "context"

// lock does nothing on systems other than Unix, such as Windows. There, two processes may build the Temporal CLI at the same
// time. This costs time but does no harm, because each build renames a complete program to the same path at its end.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
