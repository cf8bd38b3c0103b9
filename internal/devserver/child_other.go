//go:build !unix

package devserver

import (
	"os"
	"os/exec"
)

func bindToParent(*exec.Cmd) {}

func terminate(p *os.Process) { _ = p.Kill() } // there is no gentler signal

func killGroup(p *os.Process) { _ = p.Kill() }
