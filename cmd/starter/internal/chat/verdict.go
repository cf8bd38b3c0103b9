package chat

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
)

type verdict struct {
	on       client.Waits
	decision agent.Decision
}

func (v verdict) done() string {
	name := printable.Name(v.on.Call.Name)
	if t, asks := v.on.Call.AskedText(); asks {
		name = "the text of the " + printable.Name(string(t.Kind))
	} else if v.decision.Arguments == "" && v.on.Call.Arguments != "{}" {
		name += " " + proposal.Summary(v.on.Call.Name, v.on.Call.Arguments, 60)
	}
	switch {
	case !v.decision.Approve:
		return "Denied " + name + "."
	case v.decision.Remember == agent.RememberTool:
		return "Approved " + name + " and its later calls by agent " + printable.Name(v.on.AgentID) + "; /permissions lists and /revoke revokes that."
	case v.decision.Remember == agent.RememberCall:
		return "Approved " + name + " and its later calls with these arguments by agent " + printable.Name(v.on.AgentID) + "; /permissions lists and /revoke revokes that."
	case v.decision.Arguments != "":
		return "Approved " + name + " with other arguments."
	}
	return "Approved " + name + "."
}

// verdictsOf returns the decisions of a command /approve or /deny. `waits` are the calls that wait for somebody. It returns an error if the
// words after the command are not valid, if no call waits for an approval, or if several calls do and the command names none of them.
func verdictsOf(c command, waits []client.Waits) ([]verdict, error) {
	waits = approvals(waits)
	others := waits
	d := agent.Decision{Approve: c.name == "/approve"}
	call, all, err := decisionOf(c.rest, waits, &d)
	switch {
	case err != nil:
		return nil, err
	case len(waits) == 0:
		return nil, errors.New("no call waits for an approval, so there is nothing to decide")
	case all && (call != "" || d.Arguments != ""):
		return nil, errors.New("--all cannot be used together with the name of a call or with --arguments; leave out --all")
	case call != "":
		waits = slices.DeleteFunc(slices.Clone(waits), func(w client.Waits) bool { return w.Handle() != call })
	case all:
		if waits = slices.DeleteFunc(slices.Clone(waits), func(w client.Waits) bool { return isText(w.Call) }); len(waits) == 0 {
			return nil, fmt.Errorf("only texts wait, about which a guardrail asks, and --all leaves them alone: name one, such as %s %s", c.name, others[0].Handle())
		}
	case len(waits) > 1:
		return nil, severalError(c.name, waits)
	}
	if isText(waits[0].Call) && (d.Remember != "" || d.Arguments != "") {
		return nil, errors.New("a text is approved as it is, one at a time: leave out --for-agent, --for-agent-call and --arguments")
	}
	var verdicts []verdict
	for _, w := range waits {
		verdicts = append(verdicts, verdict{w, d})
	}
	if d.Remember == agent.RememberTool && !all {
		for _, w := range waits[0].Alike(others) {
			verdicts = append(verdicts, verdict{w, agent.Decision{Approve: true}})
		}
	}
	return verdicts, nil
}

// isText reports whether what waits is a text about which a guardrail asks, and no call.
func isText(c agent.Call) bool {
	_, asks := c.AskedText()
	return asks
}

// mayText asks the person for a decision on a call or a text that waits. `who` names the sub-agent; it is empty for the agent itself.
func mayText(c agent.Call, who string) string {
	if t, asks := c.AskedText(); asks {
		return fmt.Sprintf("May this text (%s)%s pass? The guardrail %s asks.", printable.Name(string(t.Kind)), who, printable.Line(c.Name, 100))
	}
	return fmt.Sprintf("May %s%s run with these arguments?", printable.Line(c.Name, 100), who)
}

func approvals(waits []client.Waits) []client.Waits {
	return slices.DeleteFunc(slices.Clone(waits), func(w client.Waits) bool { return w.Call.WaitsFor() != client.WaitsForApproval })
}

// handle matches the short name of a call: see [client.Waits.Handle].
var handle = regexp.MustCompile(`^[0-9a-f]{8}$`)

// decisionOf reads the words after /approve or /deny into `d`, and returns the name of the call and whether --all is there. It returns an
// error for an unknown option, for options that exclude each other, and for the name of a call that does not wait.
func decisionOf(rest string, waits []client.Waits, d *agent.Decision) (call string, all bool, err error) {
	for rest != "" {
		word, after := rest, ""
		if i := strings.IndexAny(rest, " \n\t"); i >= 0 {
			word, after = rest[:i], strings.TrimSpace(rest[i:])
		}
		isCall := slices.ContainsFunc(waits, func(w client.Waits) bool { return w.Handle() == word })
		switch {
		case word == "--all":
			all = true
		case d.Approve && word == "--for-agent":
			d.Remember = agent.RememberTool
		case d.Approve && word == "--for-agent-call":
			d.Remember = cmp.Or(d.Remember, agent.RememberCall)
		case d.Approve && word == "--arguments":
			d.Arguments, after = after, ""
		case !d.Approve && word == "--reason":
			d.Reason, after = after, ""
		case strings.HasPrefix(word, "--"):
			return "", false, fmt.Errorf("there is no option %s here; /help lists the options", printable.Name(word))
		case isCall && (call == "" || call == word):
			call = word
		case isCall:
			return "", false, fmt.Errorf("one command decides on one call: name only %s or only %s, or decide on all with --all", call, word)
		case handle.MatchString(word) || d.Approve:
			// A denial with the name of another call must not become the reason for the denial of this one.
			return "", false, fmt.Errorf("no call %s waits for an approval; name a call that waits, or leave the name out", printable.Name(word))
		default:
			d.Reason, after = rest, ""
		}
		rest = after
	}
	if d.Remember != "" && d.Arguments != "" {
		return "", false, errors.New("--arguments cannot be used together with --for-agent or --for-agent-call; leave one of them out")
	}
	return call, all, nil
}

func severalError(name string, waits []client.Waits) error {
	var calls []string
	for _, w := range waits {
		calls = append(calls, w.Handle()+" ("+printable.Name(w.Call.Name)+")")
	}
	return fmt.Errorf("%d calls wait: %s. Name one, such as %s %s, or decide on all with %s --all", len(waits), strings.Join(calls, ", "), name, waits[0].Handle(), name)
}
