//go:build !unix

package mcp

import "os/exec"

// This system has no process groups, so only the command itself is stopped. Processes that the command started keep running.

// prepare does nothing.
func prepare(*exec.Cmd) {}

// killMarked does nothing.
func killMarked(string) {}

// terminateGroup kills the command.
func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the command.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
