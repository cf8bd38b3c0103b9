//go:build !linux

package builtin

import "os"

// ofKernel returns false. The tools recognise only the proc file system of Linux.
func ofKernel(*os.File) bool { return false }
