package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
)

func permissions(ctx context.Context, agents Agents, id string) (string, error) {
	all, err := agents.Permissions(ctx, id)
	return permissionsText(all), err
}

// revoke removes all permissions if there is no name. It returns a text that says what it removed.
func revoke(ctx context.Context, agents Agents, id string, names []string) (string, error) {
	if err := reach(ctx, agents, id); err != nil {
		return "", err
	}
	all, err := agents.Permissions(ctx, id)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p agent.Permission) bool { return p.Key.Handle() == name }) {
			return "", fmt.Errorf("the agent has no permission %s; /permissions lists them", printable.Name(name))
		}
	}
	var revoked []string
	for _, p := range all {
		if len(names) > 0 && !slices.Contains(names, p.Key.Handle()) {
			continue
		}
		if err := agents.Revoke(ctx, id, p.Key); err != nil {
			return "", err
		}
		revoked = append(revoked, "Revoked "+p.Key.Handle()+" "+printable.Name(p.Tool)+".")
	}
	if len(revoked) == 0 {
		return "The agent has no permissions.", nil
	}
	return strings.Join(revoked, "\n"), nil
}

func permissionsText(all []agent.Permission) string {
	if len(all) == 0 {
		return "The agent has no permissions: a person decides on each call that needs an approval."
	}
	lines := []string{"The agent has these permissions:"}
	for _, p := range all {
		arguments := "with any arguments"
		if p.Arguments != "" {
			arguments = printable.Line(p.Arguments, 500)
		}
		lines = append(lines, p.Key.Handle()+" "+printable.Name(p.Tool)+" "+arguments+", by "+byText(p.By))
	}
	return strings.Join(lines, "\n")
}
