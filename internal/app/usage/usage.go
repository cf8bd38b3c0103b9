// Package usage checks the flags and arguments of command lines, and makes error texts for people.
package usage

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var wanted = map[string]string{
	"int": "a whole number", "duration": "a duration such as 90s, 10m or 1h", "bool": "true or false", "float64": "a number",
}

// FlagError makes the error about a wrong flag more helpful. The new error about an invalid value says which values the flag
// accepts. The new error about a missing value names the flag. All other errors stay unchanged. Commands pass FlagError to
// [cobra.Command.SetFlagErrorFunc].
func FlagError(_ *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wanted[wrong.GetFlag().Value.Type()] != "" {
		return fmt.Errorf("--%s must be %s, not %q", wrong.GetFlag().Name, wanted[wrong.GetFlag().Value.Type()], wrong.GetValue())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("the value of --%s is missing", missing.GetFlag().Name)
	}
	return err
}

// FlagGroups returns an error if a command line has several flags that [cobra.Command.MarkFlagsMutuallyExclusive] has put in one group. The
// error names two of the flags. Call FlagGroups before cobra checks the groups.
func FlagGroups(cmd *cobra.Command) error {
	given := map[string][]string{} // the flags of each group that the command line has
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusiveGroups] {
			if !f.Changed {
				continue
			}
			if given[group] = append(given[group], f.Name); len(given[group]) == 2 && err == nil {
				err = fmt.Errorf("--%s and --%s cannot be used together; leave one of them out", given[group][0], given[group][1])
			}
		}
	})
	return err
}

// exclusiveGroups is the annotation with which cobra marks the flags of a group. Each value has the names of the flags in the group.
const exclusiveGroups = "cobra_annotation_mutually_exclusive"

// NoArguments returns an error if a command has arguments. Commands that have only flags use it in the field `Args` of
// [cobra.Command].
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}

// OneID returns an error unless a command has exactly one argument, the ID of an agent. Commands use it in the field `Args`
// of [cobra.Command].
func OneID(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes the ID of one agent, but got %d arguments: %q is the second", cmd.Name(), len(args), args[1])
	}
	return SomeIDs(cmd, args)
}

// OneName returns an error unless a command has exactly one argument, the name of something new.
func OneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one name, but got %d arguments: `%s NAME`", cmd.Name(), len(args), cmd.CommandPath())
	}
	return nil
}

// UpToOneID returns an error if a command has more than one argument, the ID of an agent.
func UpToOneID(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return OneID(cmd, args)
}

// SomeIDs returns an error if a command has no arguments. The arguments are the IDs of agents. Commands use it in the field
// `Args` of [cobra.Command].
func SomeIDs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the ID of the agent is missing: `%s ID`", cmd.CommandPath())
	}
	return nil
}
