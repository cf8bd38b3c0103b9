//go:build !unix

package mcp_test

import (
	"errors"
	"os"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

const (
	kill    = syscall.SIGKILL
	suspend = syscall.Signal(19)
	resume  = syscall.Signal(18)
)

func signal(pid int, s syscall.Signal) error {
	if s != kill {
		return errors.ErrUnsupported
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func gone(pid int) bool {
	_, err := os.FindProcess(pid)
	return err != nil
}
