//go:build !unix

package devserver

import "context"

// lock does nothing on systems other than Unix, such as Windows. There, two processes may build the Temporal CLI at the same
// time. This costs time but does no harm, because each build first completes the program and then renames it to its final
// path.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
