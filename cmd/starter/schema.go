package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of agents.yaml, for editors",
		Long: `schema prints the JSON schema of agents.yaml (draft 2020-12). With it, an editor completes
the fields, shows what they mean, and marks mistakes. Editors with the YAML language
server, such as VS Code with the extension YAML, read this line at the top of agents.yaml:

  # yaml-language-server: $schema=agents.schema.json

The schema knows the fields and the forms of their values. "starter check" checks the
rest, such as names of models and tools. Unlike a worker, the schema does not take a
field without a value.`,
		Example: "  starter schema > agents.schema.json",
		Args:    usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return view.JSON(cmd.OutOrStdout(), config.Schema())
		},
	}
}
