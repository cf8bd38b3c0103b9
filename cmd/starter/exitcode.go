package main

import (
	"errors"
	"fmt"
)

// exitCode is the exit code of the process. The numbers are protocol: scripts
// branch on them, and the help of the root command lists them.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailure     exitCode = 1   // anything that has no code of its own
	exitUsage       exitCode = 2   // wrong flags, arguments or configuration
	exitAgentFailed exitCode = 3   // the agent failed, is held, or was stopped
	exitWrongState  exitCode = 4   // no such agent, or not in the state for this
	exitUnreachable exitCode = 5   // no Temporal, or no worker
	exitLimit       exitCode = 6   // a limit of the agent ended its turn
	exitTaken       exitCode = 7   // the ID belongs to another agent
	exitInterrupted exitCode = 130 // Ctrl-C, as shells say it
)

const exitCodeHelp = `Exit codes:
  0    success
  1    failure
  2    wrong flags, arguments or configuration
  3    the agent failed, is held, or was stopped
  4    no such agent, or it is not in a state for this
  5    no Temporal, or no worker, was there
  6    a limit of the agent (model calls, tokens, cost or time) ended its turn
  7    the ID is taken by another agent, or by an agent with another task
  130  interrupted`

// exitError is an error that decides how the process ends.
type exitError struct {
	code exitCode
	err  error
}

// exitf makes an error with a code. The message is one line that says what is
// wrong and what to do next.
func exitf(code exitCode, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// Error is the message alone; the code is for the shell.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error that was given the code.
func (e *exitError) Unwrap() error { return e.err }

// codeOf is the code that err ends the process with.
func codeOf(err error) exitCode {
	var coded *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(*noConfigError)):
		return exitUsage
	case errors.As(err, &coded):
		return coded.code
	}
	return exitFailure
}
