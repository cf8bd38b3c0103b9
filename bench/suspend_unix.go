//go:build unix

package main

import (
	"os"
	"syscall"
)

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
