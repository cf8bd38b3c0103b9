//go:build !unix

package devserver

import (
	"os"
	"os/exec"
)

func startPrivately(cmd *exec.Cmd) error { return cmd.Start() }

func makePrivate(string) error { return nil }

func bindToParent(*exec.Cmd) {}

func terminate(p *os.Process) { _ = p.Kill() } // these systems have no signal that asks a process to end

func killGroup(p *os.Process) { _ = p.Kill() }
