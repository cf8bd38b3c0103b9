package chat

import (
	"context"
	"fmt"
	"strconv"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// modelName returns the name of a model in the configuration, and if it differs, the provider's name behind it.
func modelName(c llm.Candidate) string {
	if c.Name == c.Model {
		return printable.Name(c.Name)
	}
	return fmt.Sprintf("%s (%s)", printable.Name(c.Name), printable.Name(c.Model))
}

// cost reads the agent anew, because the last refresh may be a second old.
func cost(ctx context.Context, agents Agents, id string) (string, error) {
	snap, err := agents.ShowRecorded(ctx, id)
	return costText(snap), err
}

func costText(snap client.Snapshot) string {
	u := snap.Usage
	all := u.Spent()
	text := plural.Of(u.ModelCalls, "model call") + ", " + plural.Of(u.ToolCalls, "tool call")
	switch {
	case u.Asides == 1:
		text += ", 1 question aside"
	case u.Asides > 1:
		text += fmt.Sprintf(", %d questions aside", u.Asides)
	}
	text += fmt.Sprintf("; with sub-agents that have ended %s tokens in (%s of them from a cache) and %s out",
		grouped(all.InputTokens), grouped(all.CachedTokens), grouped(all.OutputTokens))
	if all.Cost != 0 {
		return text + "; cost " + all.Cost.String() + "."
	}
	return text + "; the cost is unknown, because the models have no prices in the configuration."
}

// grouped formats a number with commas as thousands separators, such as 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
