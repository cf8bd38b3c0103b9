//go:build !linux

package builtin

import "os"

// ofKernel reports false: other systems have no such files, or not as files.
func ofKernel(*os.File) bool { return false }
