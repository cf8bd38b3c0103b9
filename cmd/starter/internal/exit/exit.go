// Package exit holds the exit codes of starter, and errors that have one.
package exit

import (
	"errors"
	"fmt"

	"github.com/reagent-dev/reagent/internal/shellword"
)

// Code is the exit code of the process. The numbers must never change, because scripts branch on them. The help of the root
// command lists them.
type Code int

// The exit codes.
const (
	OK          Code = 0
	Failure     Code = 1   // any error without a code of its own
	Usage       Code = 2   // wrong flags, arguments or configuration
	AgentFailed Code = 3   // the agent failed, is held, was cancelled or terminated, or reached a timeout of Temporal
	WrongState  Code = 4   // there is no such agent, or its state does not allow the command
	Unreachable Code = 5   // Temporal or a worker did not answer
	Limit       Code = 6   // a limit of the agent ended its turn, or the output limit of the model cut the answer
	Taken       Code = 7   // the ID belongs to another agent, or to an agent with another task
	Partly      Code = 8   // the command worked on several agents, and failed for some of them
	Refused     Code = 9   // a guardrail, or the person whom it asked, refused the message or the answer
	Asked       Code = 10  // with --until-asked: calls wait for a person or a program, so that there is no answer yet
	Unwell      Code = 11  // `starter doctor` has found a problem
	Tampered    Code = 12  // `starter audit --verify` has found a changed copy
	Interrupted Code = 130 // a signal ended the command; shells report SIGINT (Ctrl-C) as 128+2
)

// Help lists the exit codes for the help of starter.
const Help = `Exit codes:
  0    success
  1    failure
  2    wrong flags, arguments or configuration
  3    the agent failed, is held, was cancelled or terminated, or reached a timeout of Temporal
  4    no such agent, or its state does not allow the command
  5    Temporal or a worker did not answer
  6    a limit of the agent (model calls, tokens, cost or time) ended its turn, or the output limit of the model cut the answer
  7    the ID is taken by another agent, or by an agent with another task
  8    a command on all agents that match failed for some of them
  9    a guardrail, or the person whom it asked, refused the message or the answer
  10   with --until-asked: calls wait for a person or a program, so that there is no answer yet
  11   starter doctor has found a problem
  12   starter audit --verify has found that the copy was changed
  130  interrupted`

// Error is an error with an exit code. If a command returns this error, the process ends with this exit code.
type Error struct {
	code     Code
	err      error
	commands []string
}

// Errorf returns an error with an exit code. The other arguments are those of [fmt.Errorf]. The message must be one line that
// says what is wrong and what to do next. The commands among the arguments are those of [CommandsOf].
func Errorf(code Code, format string, args ...any) error {
	return &Error{code: code, err: fmt.Errorf(format, args...), commands: commandsIn(args)}
}

// CommandsOf returns the commands that an error of [Errorf] has as arguments, for programs. It does not read them from the text, because a
// text from a model may look like a command.
func CommandsOf(err error) []string {
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.commands
	}
	return nil
}

func commandsIn(args []any) []string {
	var all []string
	for _, arg := range args {
		switch a := arg.(type) {
		case shellword.Command:
			all = append(all, a.String())
		case Advice:
			all = append(all, a.commands...)
		case error:
			all = append(all, CommandsOf(a)...)
		}
	}
	return all
}

// Advice is a part of a sentence that tells a person what to do next.
type Advice struct {
	text     string
	commands []string
}

// Advisef returns an advice. The arguments are those of [fmt.Sprintf]. The commands among them are also those of an error with the advice.
func Advisef(format string, args ...any) Advice {
	return Advice{fmt.Sprintf(format, args...), commandsIn(args)}
}

// String returns the text.
func (a Advice) String() string { return a.text }

// Error returns the message without the exit code.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error without its exit code.
func (e *Error) Unwrap() error { return e.err }

// CodeOf returns the exit code of the process for a command's error. For nil, it returns 0. For an error of [Errorf], it returns
// the code in the error. For all other errors, it returns [Failure].
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.code
	}
	return Failure
}
