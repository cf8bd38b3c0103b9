//go:build !unix

package devserver

import "context"

// lock does nothing here: two builds at once cost time, and the rename at the
// end of each leaves a whole program either way.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
