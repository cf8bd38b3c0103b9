package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// modelChoice is the model that the person has chosen for the messages of this chat. The agent does not keep it: each message brings it.
type modelChoice struct {
	// name is the name of the model; empty means that of the agent.
	name string
	// turn is the name that the newest message of this chat which began a turn has brought.
	turn string
}

// ownModel is what the person types in place of a name to choose the agent's own model. Unlike a word, it is no name that a model has.
const ownModel = "-"

// choose carries out /model with a name. A new agent that is not started yet uses the model for all its turns; start is nil if the agent
// exists. An agent that exists uses it for the turns that the next messages begin. `allowed` are the models that the agent with the given ID
// may use; none means that they are not known, and a worker checks the name with the next message.
func (c *modelChoice) choose(name, id string, allowed []string, start *client.StartOptions) (string, error) {
	switch {
	case strings.ContainsAny(name, " \t\n"):
		return "", errors.New("/model takes the name of one model, such as /model best, or " + ownModel + " for the agent's own")
	case name == ownModel:
		name = ""
	case len(allowed) > 0 && !slices.Contains(allowed, name):
		return "", fmt.Errorf("the agent may not use the model %s; choose one of %s. If the configuration has changed, run `%s` first",
			printable.Name(name), namesText(allowed), shellword.Starter("reload", id))
	}
	if err := (agent.Overrides{Model: name}).Check(); err != nil {
		return "", err
	}
	if start != nil {
		start.Overrides.Model = name
		return "The new agent is to use " + chosenName(name) + ".", nil
	}
	c.name = name
	text := "The turns that your next messages begin use " + chosenName(name) + "."
	if name != "" {
		text += " `/model " + ownModel + "` goes back to the agent's own model."
	}
	return text, nil
}

func namesText(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = printable.Name(name)
	}
	return strings.Join(shown, ", ")
}

func chosenName(name string) string {
	if name == "" {
		return "the agent's own model"
	}
	return "the model " + printable.Name(name)
}

// of returns the model that the next message brings. begins says that it begins a turn: see [beginsTurn]. Otherwise it brings none, and
// the note says so if the turn has another model than the person has chosen.
func (c *modelChoice) of(begins bool) (model, note string) {
	switch {
	case begins:
		c.turn = c.name
		return c.name, ""
	case c.name != c.turn:
		return "", "This turn keeps its model. The next one uses " + chosenName(c.name) + "."
	}
	return "", ""
}

// beginsTurn reports whether the next message can bring a model: it begins a turn, or goes on with one that a person has interrupted. A turn
// that has failed goes on with its model, unless the failure is that the agent may not use the model.
func beginsTurn(r client.Progress) bool {
	return r.WaitsFor == client.WaitsForMessage || r.Status == client.Held && r.Snapshot != nil && r.Snapshot.Class == protocol.BadOverrides
}

// text lists the models of an agent.
func (c *modelChoice) text(id string, snap client.Snapshot) string {
	if len(snap.Models) == 0 {
		return "The model is not known yet."
	}
	text := "The model is " + modelName(snap.Models[0])
	for i, spare := range snap.Models[1:] {
		text += ", then "
		if i == 0 {
			text = strings.TrimSuffix(text, ", then ") + "; if it does not reply, "
		}
		text += modelName(spare)
	}
	if c.name != "" || c.turn != "" {
		text += ". Your next messages use " + chosenName(c.name)
	}
	text += "."
	others := "one of them, or of the agent's other choices,"
	if entries := c.entries(snap); len(entries) > 0 {
		text, others = text+"\nModels to choose from:", "one"
		for _, e := range entries {
			text += "\n  " + e.shown
		}
		text += "\n"
	} else {
		text += " "
	}
	return text + fmt.Sprintf("`/model NAME` chooses %s for your next messages, and `/model %s` the agent's own. "+
		"To change it for good, change the configuration, restart the worker, and run `%s`.", others, ownModel, shellword.Starter("reload", id))
}

// entries returns the models to choose from; none if they are not known.
func (c *modelChoice) entries(snap client.Snapshot) []choice {
	var all []choice
	for _, name := range snap.ModelChoices {
		shown := printable.Name(name)
		switch {
		case name == c.name:
			shown += "  (chosen)"
		case c.name == "" && len(snap.Models) > 0 && name == snap.Models[0].Name:
			shown += "  (in use)"
		}
		all = append(all, choice{shown, name})
	}
	return all
}
