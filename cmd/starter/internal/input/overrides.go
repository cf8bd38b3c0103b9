package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reagent-dev/reagent/agent"
)

// AddOverrides adds the flags that change the definition of an agent within what it allows.
func AddOverrides(f *pflag.FlagSet, o *agent.Overrides) {
	f.StringVar(&o.Model, "model", "", "`name` of the model in place of the agent's first one: one of its fallback models or choices")
	f.StringVar(&o.ReasoningEffort, "reasoning-effort", "", "reasoning `effort`: one of the agent's choices")
	f.StringArrayVar(&o.Tools, "only-tool", nil, "`name` of a tool or sub-agent that the agent keeps, as in its configuration; you can repeat the flag (default: all)")
	f.Func("add-instructions", "`file` with text that is added to the agent's instructions", instructions(o, &o.Instructions))
	f.Func("limit", "lower limit, as `NAME=VALUE`: model_calls, tokens, cost (in US dollars) or time (such as 10m); you can repeat the flag", func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		if err := setLimit(&o.Limits, name, value); err != nil {
			return err
		}
		return o.Check()
	})
}

// AddWholeInstructions adds the flag --instructions-file, which replaces the instructions of an agent.
func AddWholeInstructions(f *pflag.FlagSet, o *agent.Overrides) {
	f.Func("instructions-file", "`file` with instructions in place of the agent's own; needs a worker in development mode (worker --dev)", instructions(o, &o.WholeInstructions))
}

func instructions(o *agent.Overrides, into *string) func(path string) error {
	return func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("the file cannot be read: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, agent.MaxAddedInstructions+1))
		if err != nil {
			return fmt.Errorf("the file cannot be read: %w", err)
		}
		if *into = strings.TrimSpace(string(text)); *into == "" {
			return errors.New("the file has no text")
		}
		return o.Check()
	}
}

func setLimit(l *agent.Limits, name, value string) error {
	var err error
	switch name {
	case "model_calls":
		l.ModelCalls, err = strconv.Atoi(value)
	case "tokens":
		l.Tokens, err = strconv.Atoi(value)
	case "cost":
		var dollars float64
		dollars, err = strconv.ParseFloat(value, 64)
		l.Cost = agent.Dollars(dollars)
	case "time":
		l.Time, err = time.ParseDuration(value)
	default:
		return errors.New("write model_calls, tokens, cost or time, then =, and the value")
	}
	if err != nil {
		return fmt.Errorf("the value of %s is not valid: %w", name, err)
	}
	return nil
}
