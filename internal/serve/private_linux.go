package serve

import "syscall"

// prSetDumpable is PR_SET_DUMPABLE of prctl(2).
const prSetDumpable = 4

// makePrivate hides the worker's environment and memory under /proc from other processes of the same user, such as the MCP servers
// that the worker starts, and turns core dumps off, because they would hold API keys. Root can still read all of it.
func makePrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
