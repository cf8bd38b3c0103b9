//go:build !unix

package devserver

import "context"

// lock locks the file at a path only on Unix. On other systems, such as Windows, it does nothing, so two processes may build
// the Temporal CLI at the same time. This costs time but does no harm, because each build renames a complete program to the
// same path at its end.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
