package session

import (
	"strings"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// RegisterCommand returns the command with which somebody who administers the namespace registers search attributes of agents: that of
// Temporal Cloud, or that of a server of one's own. It is for a namespace to which [client.Client.Setup] may not add them.
func (g *Flags) RegisterCommand(names []string) string {
	types := protocol.AttributeTypes()
	command := []string{"temporal operator search-attribute create --address", shellword.Quote(g.Address), "--namespace", shellword.Quote(g.Namespace)}
	if g.InCloud() {
		command = []string{"tcld namespace search-attributes add --namespace", shellword.Quote(g.Namespace)}
	}
	for _, name := range names {
		if g.InCloud() {
			command = append(command, "--search-attribute", name+"="+types[name])
		} else {
			command = append(command, "--name", name, "--type", types[name])
		}
	}
	return strings.Join(command, " ")
}
