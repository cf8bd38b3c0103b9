package trail

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

// maxText limits the runes of each text in a line for people.
const maxText = 120

// Text returns a line for people, without the hashes; empty for the lines about the trail itself.
func Text(l object.AuditLine) string {
	if l.RunID == "" || l.Event == 0 || l.Act == "history_read" {
		return ""
	}
	words := []string{time.Time(l.Time).Local().Format(time.DateTime), printable.Name(l.ID), string(l.Act)}
	add := func(text string) {
		if text != "" {
			words = append(words, printable.Line(text, maxText))
		}
	}
	add(cmp.Or(l.Tool, l.Agent, l.Guardrail, l.Model))
	if l.Key != "" {
		add(l.Key.Handle())
	}
	add(cmp.Or(l.NewArguments, l.Arguments))
	add(string(l.Action))
	add(string(l.Status))
	add(l.Class)
	add(l.Content)
	add(l.Reason)
	if l.AllowedBy != "" {
		add("allowed by " + string(l.AllowedBy))
	}
	if l.Permits != "" {
		add("and later calls of the " + string(l.Permits))
	}
	if l.Attempt > 1 {
		add(plural.Of(l.Attempt, "attempt"))
	}
	if l.EarlierRunID != "" {
		add("from run " + l.EarlierRunID)
	}
	switch {
	case l.By != "" && l.From != "":
		add(fmt.Sprintf("by %s (%s%s)", l.By, l.From, proved(l)))
	case l.By != "":
		add("by " + l.By + proved(l))
	case l.From != "":
		add("by " + l.From)
	}
	return strings.Join(words, "  ")
}

func proved(l object.AuditLine) string {
	if l.ProvedBy == "" {
		return ""
	}
	return ", proved by " + l.ProvedBy
}
