// Package weblink makes links to pages of Temporal's Web UI. `base` is the address of the Web UI, without a slash at its end.
package weblink

import (
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Agent returns the link to the page of an agent.
func Agent(base, namespace, id string) string {
	return workflows(base, namespace) + "/" + url.PathEscape(id)
}

// Waiting returns the link to the list of the agents that wait for a person. The namespace needs the search attributes of agents.
func Waiting(base, namespace string) string {
	query := `ExecutionStatus="Running" AND ` + protocol.AttributeWaitingFor.GetName() + ` IN ("approval","answer","result","message","release")`
	return workflows(base, namespace) + "?query=" + strings.ReplaceAll(url.QueryEscape(query), "+", "%20")
}

func workflows(base, namespace string) string {
	return base + "/namespaces/" + url.PathEscape(namespace) + "/workflows"
}
