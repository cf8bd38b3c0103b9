//go:build !unix

package mcp

import "os/exec"

// This system has no process groups, so only the command itself is stopped. Processes that the command started keep running.

// prepare does nothing, because this system has no process groups.
func prepare(*exec.Cmd) {}

// killMarked does nothing on this system, so the processes that the command started keep running. To find processes by an
// environment variable, it would need the files /proc/<pid>/environ, which only Linux has.
func killMarked(string) {}

// terminateGroup kills the command, as killGroup does. This system has no SIGTERM.
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the command, but not the processes that the command started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
