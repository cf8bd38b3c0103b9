package serve

import "syscall"

const prSetDumpable = 4

// makePrivate hides the worker's environment and memory under /proc from other processes of the same user, such as the MCP
// servers that the worker starts. It also turns core dumps off. Environment, memory and core dumps contain API keys. Root can
// still read the environment and the memory.
func makePrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
