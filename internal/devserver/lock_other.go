//go:build !unix

package devserver

import "context"

// lock does nothing on systems that are not Unix, such as Windows, so two processes may build the CLI there at the same time.
// This costs time and does no harm, because each build renames a complete program to the same path at its end.
func lock(context.Context, string, func()) (unlock func(), err error) { return func() {}, nil }
