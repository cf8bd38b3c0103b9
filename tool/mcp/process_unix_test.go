//go:build unix

package mcp_test

import (
	"errors"
	"syscall"
)

// ownSession lets a process leave the process group of its parent.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

const (
	kill    = syscall.SIGKILL
	suspend = syscall.SIGSTOP
	resume  = syscall.SIGCONT
)

func signal(pid int, s syscall.Signal) error { return syscall.Kill(pid, s) }

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
