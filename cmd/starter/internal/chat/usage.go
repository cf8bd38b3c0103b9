package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func modelText(id string, snap client.Snapshot) string {
	if len(snap.Models) == 0 {
		return "The model is not known yet."
	}
	first := snap.Models[0]
	text := fmt.Sprintf("The model is %s (%s)", printable.Name(first.Name), printable.Name(first.Model))
	for i, spare := range snap.Models[1:] {
		text += ", then "
		if i == 0 {
			text = strings.TrimSuffix(text, ", then ") + "; if it does not reply, "
		}
		text += fmt.Sprintf("%s (%s)", printable.Name(spare.Name), printable.Name(spare.Model))
	}
	return text + fmt.Sprintf(". To change it, change the configuration, restart the worker, and run `%s`.", shellword.Starter("reload", id))
}

// cost reads the agent anew, because the last refresh may be a second old.
func cost(ctx context.Context, agents Agents, id string) (string, error) {
	snap, err := agents.ShowRecorded(ctx, id)
	return costText(snap), err
}

func costText(snap client.Snapshot) string {
	u := snap.Usage
	all := u.Spent()
	text := fmt.Sprintf("%d model calls, %d tool calls", u.ModelCalls, u.ToolCalls)
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
