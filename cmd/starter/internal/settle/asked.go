package settle

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// This file is about the texts about which a guardrail asks a person. They wait among the calls. A decision on one lets the text through or
// refuses it as it is, so a person decides on each alone.

// splitTexts returns the calls among those that wait, and the texts about which a guardrail asks.
func splitTexts(waiting []client.Waits) (calls, texts []client.Waits) {
	isText := func(w client.Waits) bool { _, asks := w.Call.AskedText(); return asks }
	calls = slices.DeleteFunc(slices.Clone(waiting), isText)
	texts = slices.DeleteFunc(slices.Clone(waiting), func(w client.Waits) bool { return !isText(w) })
	return calls, texts
}

// callFlag returns the flag that holds for calls only; empty if there is none.
func (o Decision) callFlag() string {
	switch {
	case o.Remember.Tool:
		return "--for-agent"
	case o.Remember.Call:
		return "--for-agent-call"
	case o.Arguments != "":
		return "--arguments"
	}
	return ""
}

// fits returns an error if one of the flags holds for calls only, and what is to be decided is a text.
func (o Decision) fits(w client.Waits) error {
	if _, asks := w.Call.AskedText(); !asks || o.callFlag() == "" {
		return nil
	}
	return exit.Errorf(exit.Usage, "%s cannot be used for %s, %s; a text is approved as it is, one at a time: leave the flag out, as in `%s`",
		o.callFlag(), w.Handle(), view.CallName(w.Call), shellword.Starter("approve", w.AgentID, w.Handle()))
}

// maxLeft is the largest number of texts for which [Decision.left] names a command.
const maxLeft = 3

// left says which texts the flag --all has left alone, and with which commands a person decides on them. There must be one.
func (o Decision) left(texts []client.Waits) exit.Advice {
	verb := "deny"
	if o.Approve {
		verb = "approve"
	}
	var commands []any
	for _, w := range texts[:min(len(texts), maxLeft)] {
		commands = append(commands, shellword.Starter(verb, w.AgentID, w.Handle()))
	}
	form := strings.TrimSuffix(strings.Repeat("`%s`, ", len(commands)), ", ")
	if len(texts) > maxLeft {
		form += " and so on: see `%s`"
		commands = append(commands, shellword.Starter("inbox"))
	}
	if len(texts) == 1 {
		return exit.Advisef("--all leaves alone 1 text about which a guardrail asks; decide on it with "+form, commands...)
	}
	return exit.Advisef("--all leaves alone %d texts about which guardrails ask; decide on each with "+form, append([]any{len(texts)}, commands...)...)
}
