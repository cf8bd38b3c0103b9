package input

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reagent-dev/reagent/agent"
)

// AddMetadata adds the flag --metadata, which can be repeated and adds an entry to `m`.
func AddMetadata(f *pflag.FlagSet, m *agent.Metadata, help string) {
	f.Func("metadata", help+", as `NAME=VALUE`; you can repeat the flag", func(text string) error {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return errors.New("write NAME=VALUE")
		}
		if *m == nil {
			*m = agent.Metadata{}
		}
		(*m)[name] = value
		return m.Check()
	})
}
