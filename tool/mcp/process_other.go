//go:build !unix

package mcp

import "os/exec"

// This system has no process groups, so only the command itself is stopped. Processes that the command started keep running.

// prepare does nothing, because there are no process groups.
func prepare(*exec.Cmd) {}

// killMarked does nothing. The processes that the command started keep running.
func killMarked(string) {}

// terminateGroup kills the command, as killGroup does. This system has no SIGTERM.
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the command, but not the processes that the command started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
