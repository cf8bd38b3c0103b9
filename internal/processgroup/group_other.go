//go:build !unix

package processgroup

import "os/exec"

// This system has no process groups, so only the command itself is stopped. Processes that the command started keep running.

// prepare does nothing on this system. On Unix it makes the command start in a new process group. This system has no process
// groups.
func prepare(*exec.Cmd) {}

// killMarked does nothing on this system. On Linux it kills all processes that have a given environment variable. For this it
// needs the files /proc/<pid>/environ, which this system does not have.
func killMarked(string) {}

// terminateGroup kills the command, because this system has no SIGTERM. It does the same as [killGroup].
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the command, but not the processes that the command started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// groupRuns returns false, because this system has no process groups.
func groupRuns(*exec.Cmd) bool { return false }
