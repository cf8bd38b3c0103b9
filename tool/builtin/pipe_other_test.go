//go:build !unix

package builtin_test

import "testing"

// pipe skips the test: there are no named pipes in folders.
func pipe(t *testing.T, _ string) { t.Skip("the system has no named pipes") }
