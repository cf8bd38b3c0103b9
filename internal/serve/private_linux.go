package serve

import "syscall"

// prSetDumpable is PR_SET_DUMPABLE of prctl(2).
const prSetDumpable = 4

// makePrivate keeps other processes of the same user, such as the MCP servers that the worker starts, from its environment
// and memory under /proc, and keeps keys out of core dumps. Root is not kept out.
func makePrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
