//go:build !unix

package processgroup

import "os/exec"

// This system has no process groups, so only the command itself can be ended. Processes that the command has started keep running.

func prepare(*exec.Cmd) {}

func killMarked(string) {}

// terminateGroup kills the command, because this system has no SIGTERM.
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func groupRuns(*exec.Cmd) bool { return false }
