package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/canon"
)

// reader makes lines of the events of one run. It keeps what later events refer to.
type reader struct {
	Run

	// owner is the run in which the present event happened, and copied says that a reset has copied it.
	owner  string
	copied bool

	entries []entry

	start    agent.Start
	identity agent.Identity
	// callers has the references of callers that the run knows, and "": the key of a call depends on its caller.
	callers []string
	// state collects the pages of the state that the run reads from an earlier run.
	state []byte
	pages int
	// scheduled and attempts have the activities and their attempts, by the ID of the event that has scheduled them. children has the keys
	// of sub-agents in the same way.
	scheduled map[int64]*historypb.ActivityTaskScheduledEventAttributes
	attempts  map[int64]*historypb.ActivityTaskStartedEventAttributes
	children  map[int64]agent.Key
	// accepted has the lines of updates, by the ID of the event that accepts the update. admitted has the IDs of the updates that Temporal
	// has delivered again.
	accepted map[int64]object.AuditLine
	admitted map[string]bool

	// tools has the names of the tools that were called.
	tools       map[agent.Key]string
	proposals   map[agent.Key]proposal
	allowances  map[agent.Key]allowance
	permissions []agent.Permission
}

// proposal is a call for which a model has asked.
type proposal struct {
	model           agent.Key
	position        int
	tool, arguments string
}

// allowance says who lets a call run.
type allowance struct {
	actor agent.Actor
	by    object.Allowed
}

func newReader(r Run) *reader {
	return &reader{
		Run: r, callers: []string{""}, scheduled: map[int64]*historypb.ActivityTaskScheduledEventAttributes{}, attempts: map[int64]*historypb.ActivityTaskStartedEventAttributes{},
		children: map[int64]agent.Key{}, accepted: map[int64]object.AuditLine{}, admitted: map[string]bool{},
		tools: map[agent.Key]string{}, proposals: map[agent.Key]proposal{}, allowances: map[agent.Key]allowance{},
	}
}

func (r *reader) read(e *historypb.HistoryEvent) error {
	for _, read := range []func(*historypb.HistoryEvent) error{r.readLife, r.readUpdate, r.readActivity, r.readChild} {
		if err := read(e); err != nil {
			return err
		}
	}
	return nil
}

// tell adds a line for an event. The actor may be zero; then it is who has sent the request to Temporal, as Temporal knows it.
func (r *reader) tell(e *historypb.HistoryEvent, l object.AuditLine, a agent.Actor, identity string) object.AuditLine {
	if a = a.Stated(); a == (agent.Actor{}) {
		a.From = identity
	}
	l.ID, l.RunID, l.Event, l.Time, l.Actor = r.ID, r.owner, int(e.GetEventId()), object.Time(e.GetEventTime().AsTime()), object.Actor(a)
	r.entries = append(r.entries, entry{AuditLine: hashed(l), copied: r.copied})
	return l
}

func (r *reader) decode(p *commonpb.Payloads, out any) error {
	if err := r.Converter.FromPayloads(p, out); err != nil {
		return fmt.Errorf("decode a payload (this needs the data converter and codecs of the workers): %w", err)
	}
	return nil
}

// failed returns the class and the text of a failure.
func (r *reader) failed(f *failurepb.Failure) (class, text string) {
	if f == nil {
		return "", ""
	}
	err := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: r.Converter}).FailureToError(f)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Type(), app.Message()
	}
	return "Failed", err.Error()
}

// inherit takes over what the state of an earlier run says about open calls.
func (r *reader) inherit(s *agent.State) {
	for _, c := range s.Pending() {
		r.proposals[c.Key] = proposal{c.Model, c.Position, c.Name, c.Arguments}
		if d := c.Decider; d != nil && !d.Denied {
			r.allowances[c.Key] = decided(*d)
		}
	}
	for _, d := range s.Decisions {
		r.decide(d)
	}
	r.permissions = slices.Clone(s.Permissions)
	r.meet(s.CurrentMetadata())
	for _, m := range s.Queue {
		r.meet(m.Metadata)
	}
}

// meet notes the caller in some metadata.
func (r *reader) meet(m agent.Metadata) {
	if caller := m[agent.CallerReference]; !slices.Contains(r.callers, caller) {
		r.callers = append(r.callers, caller)
	}
}

// propose notes a call for which a model has asked, and returns the keys that it may have: one for each caller. The history does not tell
// for which of them the call is until it runs or is decided.
func (r *reader) propose(p proposal) []agent.Key {
	var keys []agent.Key
	for _, caller := range r.callers {
		key := r.identity.ToolKey(p.model, p.position, p.tool, p.arguments, caller)
		r.proposals[key] = p
		keys = append(keys, key)
	}
	return keys
}

func decided(d agent.Decider) allowance {
	if d.Remembered {
		return allowance{actor: d.Actor, by: byPermission}
	}
	return allowance{actor: d.Actor, by: byPerson}
}

// decide notes what a decision allows. The call may get another key by it.
func (r *reader) decide(d agent.Decision) {
	p, known := r.proposals[d.Key]
	if d.Result != nil {
		if d.Result.Hash != "" {
			return // it was applied: see [agent.GivenResult]
		}
		next := r.identity.AnsweredKey(d.Key, *d.Result)
		if known {
			r.proposals[next] = p
		}
		if a, ok := r.allowances[d.Key]; ok {
			r.allowances[next] = a
		}
		return
	}
	if !d.Approve {
		return
	}
	keys := []agent.Key{d.Key}
	if known && d.Remember != "" {
		remembered := agent.Permission{Key: d.Key, Tool: p.tool, Reply: p.model, Actor: d.Actor}
		if d.Remember == agent.RememberCall {
			remembered.Arguments = canonical(p.arguments)
		}
		r.permissions = append(r.permissions, remembered)
	}
	if known && d.Arguments != "" && d.Arguments != p.arguments {
		p.arguments = d.Arguments
		keys = r.propose(p)
	}
	for _, key := range keys {
		r.allowances[key] = allowance{actor: d.Actor, by: byPerson}
	}
}

func (r *reader) revoke(key agent.Key) {
	r.permissions = slices.DeleteFunc(r.permissions, func(p agent.Permission) bool { return p.Key == key })
}

// allowed says who lets a call run. A call that is not known to need a decision runs because its tool asks for none.
func (r *reader) allowed(key agent.Key) allowance {
	if a, ok := r.allowances[key]; ok {
		return a
	}
	p, known := r.proposals[key]
	if !known {
		return allowance{}
	}
	for _, permission := range r.permissions {
		if permission.Tool == p.tool && permission.Reply != p.model && (permission.Arguments == "" || permission.Arguments == canonical(p.arguments)) {
			return allowance{actor: permission.Actor, by: byPermission}
		}
	}
	return allowance{by: byTool}
}

func canonical(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	text, err := canon.Text([]byte(arguments))
	if err != nil {
		return arguments
	}
	return string(text)
}

// callOf returns a key of the call that asks for a sub-agent with a task; empty if the history does not tell.
func (r *reader) callOf(name, task string) agent.Key {
	found := map[proposal][]agent.Key{}
	for key, p := range r.proposals {
		var in struct {
			Task string `json:"task"`
		}
		if p.tool == name && json.Unmarshal([]byte(p.arguments), &in) == nil && in.Task == task {
			found[p] = append(found[p], key)
		}
	}
	if len(found) != 1 {
		return ""
	}
	for _, keys := range found {
		for _, key := range keys {
			if _, decided := r.allowances[key]; decided {
				return key
			}
		}
		return slices.Min(keys)
	}
	return ""
}
