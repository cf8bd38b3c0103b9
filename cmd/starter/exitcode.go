package main

import (
	"errors"
	"fmt"
)

// exitCode is the exit code of the process. The numbers must never change, because scripts branch on them. The help of the root
// command lists them.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailure     exitCode = 1   // any error without a code of its own
	exitUsage       exitCode = 2   // wrong flags, arguments or configuration
	exitAgentFailed exitCode = 3   // the agent failed, is held, was cancelled or terminated, or ran out of time
	exitWrongState  exitCode = 4   // there is no such agent, or its state does not allow the command
	exitUnreachable exitCode = 5   // Temporal or a worker did not answer
	exitLimit       exitCode = 6   // a limit of the agent ended its turn, or the output limit of the model cut the answer
	exitTaken       exitCode = 7   // the ID belongs to another agent, or to an agent with another task
	exitInterrupted exitCode = 130 // a signal ended the command; shells report SIGINT (Ctrl-C) as 128+2
)

const exitCodeHelp = `Exit codes:
  0    success
  1    failure
  2    wrong flags, arguments or configuration
  3    the agent failed, is held, was cancelled or terminated, or ran out of time
  4    no such agent, or its state does not allow the command
  5    Temporal or a worker did not answer
  6    a limit of the agent (model calls, tokens, cost or time) ended its turn, or the output limit of the model cut the answer
  7    the ID is taken by another agent, or by an agent with another task
  130  interrupted`

// exitError is an error with an exit code. If a command returns this error, the process ends with this exit code.
type exitError struct {
	code exitCode
	err  error
}

// exitf returns an error with an exit code. The other arguments are those of [fmt.Errorf]. The message must be one line that
// says what is wrong and what to do next.
func exitf(code exitCode, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// Error returns the message without the exit code.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error without its exit code.
func (e *exitError) Unwrap() error { return e.err }

// codeOf returns the exit code of the process for a command's error. For nil, it returns 0. For a [*noConfigError], it
// returns [exitUsage]. For an [*exitError], it returns the code in the error. For all other errors, it returns [exitFailure].
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
