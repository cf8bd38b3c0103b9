package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Waits is a call that waits for somebody outside the agent: for an approval, for the answer to a question, or for the result of an
// external call. The method WaitsFor of the call says which.
type Waits struct {
	// AgentID is the ID of the agent or sub-agent that made the call.
	AgentID string
	// Agent is the name of the agent's definition.
	Agent string
	// Call is the call, with the arguments that a decision is about. The field Wait.Until is the time at which the wait ends.
	Call agent.Call
	// Since is the time of the reply that asked for the call, or of the message about which a guardrail asks, in Unix milliseconds.
	Since int64
}

// Handle returns a short name of the call, which [Client.Approve], [Client.Deny] and [Client.Complete] accept.
func (w Waits) Handle() string { return w.Call.Key.Handle() }

// Alike returns those of the calls that are other calls of the same tool by the same agent, and wait for an approval. Whoever approves all
// later calls of the tool approves these, too. A text about which a guardrail asks is no such call: each is decided alone.
func (w Waits) Alike(waiting []Waits) []Waits {
	return slices.DeleteFunc(slices.Clone(waiting), func(other Waits) bool {
		_, text := other.Call.AskedText()
		return text || other.AgentID != w.AgentID || other.Call.Name != w.Call.Name || other.Call.Key == w.Call.Key || other.Call.WaitsFor() != agent.WaitsForApproval
	})
}

// AmbiguousCallError is the error of [Client.Approve], [Client.Deny] and [Client.Complete] if the name of the call is empty or short,
// and several calls wait.
type AmbiguousCallError struct {
	// ID is the ID of the agent.
	ID string
	// Waiting are the calls that wait.
	Waiting []Waits
}

// Error returns a text that names the calls.
func (e *AmbiguousCallError) Error() string {
	var calls []string
	noun := "questions"
	for _, w := range e.Waiting {
		calls = append(calls, w.Handle()+" ("+w.Call.Name+")")
		if w.Call.WaitsFor() != agent.WaitsForAnswer {
			noun = "calls"
		}
	}
	return fmt.Sprintf("%d %s of agent %q wait: %s; name one of them", len(e.Waiting), noun, e.ID, strings.Join(calls, ", "))
}

// NoCallError is the error of [Client.Approve], [Client.Deny] and [Client.Complete] if no such call waits, and of [Client.GiveResult] if
// the agent has no such call.
type NoCallError struct {
	// ID is the ID of the agent. Call is the name of the call; empty means any call.
	ID, Call string
	// For is what the call would have to wait for, such as "a decision".
	For string
	// WaitsFor is what the call waits for instead. It is empty if the call does not wait.
	WaitsFor agent.WaitsFor
	// Decided says that somebody has already decided on the call.
	Decided bool
}

// Error returns a text that names the agent and the call.
func (e *NoCallError) Error() string {
	noun := "call"
	if e.For == WaitsForAnswer.SettledBy() {
		noun = "question"
	}
	switch {
	case e.Call == "":
		return fmt.Sprintf("no %s of agent %q or of its sub-agents waits for %s", noun, e.ID, e.For)
	case e.WaitsFor != "":
		return fmt.Sprintf("the call %q of agent %q waits for %s, not for %s", e.Call, e.ID, e.WaitsFor.SettledBy(), e.For)
	case e.Decided:
		return fmt.Sprintf("the call %q of agent %q was decided before, and does not wait for %s", e.Call, e.ID, e.For)
	}
	return fmt.Sprintf("no %s %q of agent %q or of its sub-agents waits for %s", noun, e.Call, e.ID, e.For)
}

// Pending returns the calls that wait for somebody outside, in the agent with the given ID and in all running sub-agents below it. It
// reads histories, so it needs no worker.
func (c *Client) Pending(ctx context.Context, id string) ([]Waits, error) {
	found, err := c.outside(ctx, id)
	return found.waiting, err
}

// outside is what [Client.outside] and [Client.outsideOf] read about the calls of agents that wait for somebody outside.
type outside struct {
	// status is that of the first agent.
	status Status
	// waiting are the calls that wait. decided are the keys of the calls on which somebody has decided.
	waiting []Waits
	decided []agent.Key
}

func (c *Client) outside(ctx context.Context, id string) (outside, error) {
	tree, err := c.Tree(ctx, id)
	if err != nil {
		return outside{}, err
	}
	all := outside{status: tree[0].Status}
	for _, e := range tree {
		if e.Status.Ended() {
			continue
		}
		found, err := c.outsideOf(ctx, e)
		if errors.Is(err, ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return outside{}, err
		}
		all.waiting, all.decided = append(all.waiting, found.waiting...), append(all.decided, found.decided...)
	}
	return all, nil
}

func (c *Client) outsideOf(ctx context.Context, e Entry) (outside, error) {
	run, err := c.read(ctx, agent.RunRef{ID: e.ID, RunID: e.RunID})
	if err != nil || run.State == nil {
		return outside{}, err
	}
	all := outside{status: e.Status}
	for _, call := range run.State.Open() {
		if !call.Waits() {
			continue
		}
		all.waiting = append(all.waiting, Waits{
			AgentID: e.ID, Agent: cmp.Or(e.Agent, run.State.Agent), Call: call, Since: since(run.State, call),
		})
	}
	for _, d := range run.State.Decisions {
		all.decided = append(all.decided, d.Key)
	}
	return all, nil
}

// since returns the time of the message about whose text a guardrail asks, or of the last message, which asked for the call.
func since(s *agent.State, call agent.Call) int64 {
	for _, t := range s.Checks {
		for _, m := range s.Queue {
			if t.Key == call.Key && t.Kind == agent.TextMessage && m.ID == string(t.Of) {
				return m.Time
			}
		}
	}
	if n := len(s.Messages); n > 0 {
		return s.Messages[n-1].Time
	}
	return 0
}

// inboxReads limits the number of histories that [Client.Inbox] reads at the same time, because each is held in memory and replayed.
const inboxReads = 8

// Inbox returns the calls that wait for somebody outside, over all agents of the namespace, oldest first. It needs no worker.
//
// Inbox reads the histories of the agents that wait (see [protocol.AttributeWaitingFor]), and of those that were started without
// search attributes. If the namespace does not have the search attributes of agents, it reads the history of each agent that has not
// ended.
//
// If the histories of some agents cannot be read, for example because the client lacks their codec, Inbox returns the calls of the others, and
// an [*UnreadableAgentsError].
func (c *Client) Inbox(ctx context.Context) ([]Waits, error) {
	var all []Waits
	var unreadable []error
	var mu sync.Mutex
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(inboxReads)
	for e, err := range c.List(ctx, ListOptions{Statuses: []Status{Running}, outside: true}) {
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			found, err := c.outsideOf(reading, e)
			if errors.Is(err, ErrNotFound) {
				return nil // deleted meanwhile
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, found.waiting...)
			if errors.As(err, new(*history.UnreadableError)) {
				unreadable = append(unreadable, err)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y Waits) int { // the calls of one reply in the order of the model
		return cmp.Or(cmp.Compare(x.Since, y.Since), cmp.Compare(x.AgentID, y.AgentID), cmp.Compare(x.Call.Position, y.Call.Position))
	})
	if len(unreadable) > 0 {
		slices.SortFunc(unreadable, func(x, y error) int { return cmp.Compare(x.Error(), y.Error()) })
		return all, &UnreadableAgentsError{Errs: unreadable}
	}
	return all, nil
}

// UnreadableAgentsError says that the histories of some agents cannot be read: see [Client.Inbox].
type UnreadableAgentsError struct {
	// Errs has an error for each of these agents. Each wraps a [*history.UnreadableError].
	Errs []error
}

// Error counts the agents and has the text of the first error.
func (e *UnreadableAgentsError) Error() string {
	return fmt.Sprintf("%s cannot be read, the first because of: %v", plural.Of(len(e.Errs), "agent"), e.Errs[0])
}

// Unwrap returns [UnreadableAgentsError.Errs].
func (e *UnreadableAgentsError) Unwrap() []error { return e.Errs }

// DecideOptions are the options of [Client.Approve], which ignores Reason, and of [Client.Deny], which uses only Reason and By. The zero
// value is a decision of the user of this process.
type DecideOptions struct {
	// Arguments replace the arguments of an approved call. They must be a JSON object. The result tells the model about the change.
	// Empty means that the arguments stay.
	Arguments string
	// Remember says which later calls of the agent the approval also permits. Empty means none.
	Remember agent.Remember
	// Reason is the reason for a denial, for the model. At most 4,000 bytes.
	Reason string
	// By names the person who decides. Defaults to the user of this process.
	By string
	// Alike is called with each other call that [Client.Approve] has approved, too, because the approval permits all calls of the tool.
	// Nil means that nobody wants to know. [Client.Deny] ignores it.
	Alike func(Waits)
}

// Approve lets a call run. The call may be one of the agent with the given ID or of a running sub-agent below it. `call` is its
// [Waits.Handle] or its key; it may be empty if only one call waits. The decision is valid only for the arguments that the call has now.
// Approve returns the decided call. It needs a running worker.
//
// If the approval also permits all later calls of the tool (see [agent.RememberTool]), the agent's other calls of the tool that wait
// already run, too. If somebody else decides on one of them meanwhile, that decision stays.
//
// These errors say why the decision has no effect:
//   - a [*NoCallError] if no such call waits
//   - an [*AmbiguousCallError] if several calls have the name
//   - an error that wraps [ErrClosed] if no such call waits and the agent has ended
//   - an error that wraps [ErrRefused] if the decision is invalid or the agent refuses it, for example because another person has decided
//   - an error that wraps [ErrNotFound] if there is no such agent
//
// After any other error, such as [ErrNoWorker], the agent may or may not have the decision.
func (c *Client) Approve(ctx context.Context, id, call string, o DecideOptions) (Waits, error) {
	found, err := c.outside(ctx, id)
	if err != nil {
		return Waits{}, err
	}
	w, err := found.choose(id, call, []WaitsFor{agent.WaitsForApproval})
	if err != nil {
		return Waits{}, err
	}
	if err := c.Decide(ctx, w, agent.Decision{Approve: true, Arguments: o.Arguments, Remember: o.Remember, Actor: agent.Actor{By: o.By}}); err != nil || o.Remember != agent.RememberTool {
		return w, err
	}
	for _, other := range w.Alike(found.waiting) {
		switch err := c.Decide(ctx, other, agent.Decision{Approve: true, Actor: agent.Actor{By: o.By}}); {
		case errors.Is(err, ErrRefused): // somebody else has decided
		case err != nil:
			return w, fmt.Errorf("call %s is approved, but its other call %s is not: %w", w.Handle(), other.Handle(), err)
		case o.Alike != nil:
			o.Alike(other)
		}
	}
	return w, nil
}

// Deny refuses a call. The model gets the reason as the result of the call. See [Client.Approve] for the parameters and errors.
func (c *Client) Deny(ctx context.Context, id, call string, o DecideOptions) (Waits, error) {
	return c.decide(ctx, id, call, agent.Decision{Reason: o.Reason, Actor: agent.Actor{By: o.By}}, agent.WaitsForApproval)
}

// CompleteOptions are the options of [Client.Complete] and [Client.GiveResult]. The zero value gives a result that is no error.
type CompleteOptions struct {
	// For is the kind of call that gets the result: [WaitsForAnswer] for a question, or [WaitsForResult] for an external call. Calls of
	// the other kind are then left alone. Empty means both kinds. [Client.GiveResult] ignores it.
	For WaitsFor
	// IsError marks the result as an error for the model. False means that the call has succeeded.
	IsError bool
	// By is the name of the person or of the program that gives the result. It has at most 200 bytes. Defaults to the user of this
	// process.
	By string
	// From is the name of the machine from which the result comes. It has at most 200 bytes. Defaults to this machine.
	From string
}

// Complete gives a call its result from outside: the result of a tool with the effect [tool.External], or the answer to a question of
// the tool "ask_user" or of any other tool (see [agent.Elicitation]). The model reads the result, which has at most
// [agent.MaxGivenBytes] bytes. See [Client.Approve] for the other parameters and the errors.
func (c *Client) Complete(ctx context.Context, id, call, result string, o CompleteOptions) (Waits, error) {
	kinds := []WaitsFor{agent.WaitsForResult, agent.WaitsForAnswer}
	if o.For != "" {
		kinds = []WaitsFor{o.For}
	}
	return c.decide(ctx, id, call, o.decision(result), kinds...)
}

func (o CompleteOptions) decision(result string) agent.Decision {
	return agent.Decision{Result: &agent.GivenResult{Content: result, IsError: o.IsError}, Actor: agent.Actor{By: o.By, From: o.From}}
}

// decide sends a decision on the call with the given name. It ignores calls that wait for something other than the given kinds.
func (c *Client) decide(ctx context.Context, id, call string, d agent.Decision, kinds ...WaitsFor) (Waits, error) {
	found, err := c.outside(ctx, id)
	if err != nil {
		return Waits{}, err
	}
	w, err := found.choose(id, call, kinds)
	if err != nil {
		return Waits{}, err
	}
	return w, c.Decide(ctx, w, d)
}

// choose returns the call that waits for one of the given kinds and whose key or handle is `call`. If `call` is empty, exactly one call
// must wait for one of these kinds. If several match, the error is an [*AmbiguousCallError].
func (o outside) choose(id, call string, kinds []WaitsFor) (Waits, error) {
	named := func(key agent.Key) bool { return call == "" || string(key) == call || key.Handle() == call }
	missing := &NoCallError{ID: id, Call: call, For: kinds[0].SettledBy(), Decided: call != "" && slices.ContainsFunc(o.decided, named)}
	var chosen []Waits
	for _, w := range o.waiting {
		switch kind := w.Call.WaitsFor(); {
		case !named(w.Call.Key):
		case slices.Contains(kinds, kind):
			chosen = append(chosen, w)
		case call != "":
			missing.WaitsFor = kind
		}
	}
	switch {
	case len(chosen) == 1:
		return chosen[0], nil
	case len(chosen) > 1:
		return Waits{}, &AmbiguousCallError{ID: id, Waiting: chosen}
	case o.status.Ended() && missing.WaitsFor == "":
		return Waits{}, &ClosedError{Operation: protocol.DecideUpdate, ID: id, Status: o.status}
	}
	return Waits{}, missing
}

// Decide sends a decision on a call that [Client.Pending] or [Client.Inbox] has returned. It sets the field Key of the decision, and
// the fields By and From if they are empty. The error wraps [ErrRefused] if the agent refuses the decision.
func (c *Client) Decide(ctx context.Context, w Waits, d agent.Decision) error {
	d, err := signed(w, d)
	if err != nil {
		return err
	}
	return c.update(ctx, w.AgentID, nil, protocol.DecideUpdate, d)
}

// signed returns the decision on the call with the names of the person and the machine. The error wraps [ErrRefused] if no agent would
// accept the decision.
func signed(w Waits, d agent.Decision) (agent.Decision, error) {
	d.Key = w.Call.Key
	d.Actor = stated(d.Actor)
	if err := d.Check(); err != nil {
		return d, &agentError{fmt.Sprintf("agent %q: %v", w.AgentID, err), []error{ErrRefused}}
	}
	return d, nil
}

// Permissions returns the permissions of an agent: see [agent.Permission]. It returns none if the agent has not begun to work. It reads the
// history, so it needs no worker.
func (c *Client) Permissions(ctx context.Context, id string) ([]agent.Permission, error) {
	_, run, err := c.newest(ctx, id)
	if err != nil || run.State == nil {
		return nil, err
	}
	return run.State.Permissions, nil
}

// Revoke removes a permission of an agent. `key` is the field Key of the [agent.Permission]. Later calls ask a person again. It needs a
// running worker.
func (c *Client) Revoke(ctx context.Context, id string, key agent.Key) error {
	return c.update(ctx, id, nil, protocol.RevokeUpdate, key)
}
