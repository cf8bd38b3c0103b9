// Package usage words the mistakes in a command line for people.
package usage

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wanted maps the type of a flag to the words for the values that the flag takes.
var wanted = map[string]string{
	"int": "a whole number", "duration": "a duration such as 90s, 10m or 1h", "bool": "true or false", "float64": "a number",
}

// FlagError returns err in words that name the flag and what it takes. It is for [cobra.Command.SetFlagErrorFunc].
func FlagError(_ *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wanted[wrong.GetFlag().Value.Type()] != "" {
		return fmt.Errorf("--%s must be %s, not %q", wrong.GetFlag().Name, wanted[wrong.GetFlag().Value.Type()], wrong.GetValue())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("the value of --%s is missing", missing.GetFlag().Name)
	}
	return err
}

// NoArguments refuses arguments: it is for commands that take flags only.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}

// OneID demands one argument, the ID of an agent.
func OneID(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes the ID of one agent, but got %d arguments: %q is the second", cmd.Name(), len(args), args[1])
	}
	return SomeIDs(cmd, args)
}

// SomeIDs demands one argument or more, the IDs of agents.
func SomeIDs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the ID of the agent is missing: `%s ID`", cmd.CommandPath())
	}
	return nil
}
