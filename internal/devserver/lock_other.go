//go:build !unix

package devserver

import "context"

// lock does nothing on these systems. Two builds at the same time only cost time: each of them ends with the rename of a complete
// program.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
