package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
)

type toldMsg struct {
	attached int
	text     string
	err      error
}

func (m *model) permissions() tea.Cmd {
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	return func() tea.Msg {
		all, err := agents.Permissions(ctx, id)
		return toldMsg{attached, permissionsText(all), err}
	}
}

func (m *model) revoke(names []string) tea.Cmd {
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	return func() tea.Msg {
		text, err := revoke(ctx, agents, id, names)
		return toldMsg{attached, text, err}
	}
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
