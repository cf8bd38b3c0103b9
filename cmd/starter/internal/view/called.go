package view

import (
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
)

// CallName returns how people call a call that waits: by the name of its tool or sub-agent. For a text about which a guardrail asks a person,
// it says that it is a text.
func CallName(c agent.Call) string {
	if t, asks := c.AskedText(); asks {
		return fmt.Sprintf("a text (%s) about which the guardrail %s asks", printable.Name(string(t.Kind)), printable.Name(c.Name))
	}
	return printable.Name(c.Name)
}
