//go:build !unix

package main

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.New("a process can be suspended only on Unix") }
