//go:build !unix

package mcp

import "os/exec"

// Without process groups only the command itself is ended.

func prepare(*exec.Cmd) {}

func killMarked(string) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
