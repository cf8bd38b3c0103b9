package builtin

import (
	"os"
	"syscall"
)

// procMagic is the type of the file system with the kernel's files about processes.
const procMagic = 0x9fa0

// ofKernel reports whether a file is one of the kernel's about processes. They hold environments and memory.
func ofKernel(f *os.File) bool {
	var about syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &about) == nil && about.Type == procMagic
}
