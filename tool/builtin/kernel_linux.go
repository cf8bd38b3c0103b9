package builtin

import (
	"os"
	"syscall"
)

// procMagic identifies the proc file system in statfs(2).
const procMagic = 0x9fa0

// ofKernel reports whether a file is in the proc file system; false if the system does not say so. The file tools must not read such a
// file. It can contain the environment variables or the memory of the worker, and secrets in them.
func ofKernel(f *os.File) bool {
	var about syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &about) == nil && about.Type == procMagic
}
