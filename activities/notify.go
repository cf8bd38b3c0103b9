package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/webhook"
)

// Notify makes one attempt to deliver a notification to a hook. The error has the type [protocol.NotDelivered], or [protocol.Missing] if
// this worker does not have the hook. Temporal retries the activity, unless the receiver has refused the notification: see [Hook].URL.
func (a *Activities) Notify(ctx context.Context, in protocol.NotifyInput) error {
	ctx = logs.WithTrace(ctx, in.Traceparent)
	h, ok := a.hooks[in.Hook]
	if !ok {
		return temporal.NewApplicationError(fmt.Sprintf("there is no hook %q on this worker, which has these hooks: %s; add the hook to the configuration of the workers",
			in.Hook, cmp.Or(strings.Join(slices.Sorted(maps.Keys(a.hooks)), ", "), "none")), protocol.Missing)
	}
	id, key := names(ctx)
	message := a.newHookMessage(id, in)
	body, err := json.Marshal(message)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), protocol.NotDelivered, nil)
	}
	if err := h.deliver(ctx, key, body, in.Traceparent); err != nil {
		var options temporal.ApplicationErrorOptions
		if refused, ok := errors.AsType[*webhook.Error](err); ok {
			options.NonRetryable, options.NextRetryDelay = !refused.Retry, refused.After
		}
		text := hideCallbacks(message, a.redact(fmt.Sprintf("hook %s: %v", h.Name, err)))
		return temporal.NewApplicationErrorWithOptions(text, protocol.NotDelivered, options)
	}
	return nil
}

// hookMessage is the JSON that a hook gets. Its form is that of the specification Standard Webhooks.
type hookMessage struct {
	// Type is "agent.waits", "agent.held" or "agent.ended".
	Type string `json:"type"`
	// Timestamp is the time at which the notification was made.
	Timestamp time.Time `json:"timestamp"`
	// Key is the key of the notification. It is also the header webhook-id.
	Key  agent.Key `json:"key"`
	Data hookData  `json:"data"`
}

// hookData describes the agent at the time of the notification: see [agent.Notification].
type hookData struct {
	AgentID      string         `json:"agent_id"`
	Agent        string         `json:"agent"`
	Parent       string         `json:"parent,omitempty"`
	Status       agent.Status   `json:"status"`
	WaitsFor     agent.WaitsFor `json:"waits_for,omitempty"`
	Calls        []hookCall     `json:"calls,omitempty"`
	CallsOmitted int            `json:"calls_omitted,omitempty"`
	Class        string         `json:"class,omitempty"`
	Message      string         `json:"message,omitempty"`
	Stopped      string         `json:"stopped,omitempty"`
	Answer       string         `json:"answer,omitempty"`
	// Commands are the commands with which a person lets the agent go on.
	Commands []string `json:"commands,omitempty"`
}

// hookCall is a call that waits: see [agent.NotifiedCall].
type hookCall struct {
	Key       agent.Key `json:"key"`
	Handle    string    `json:"handle"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	// Text has the arguments in the form in which a person judges them. It is made here, so that no history has it. It is absent if the
	// arguments are cut.
	Text     string         `json:"text,omitempty"`
	Question string         `json:"question,omitempty"`
	Subject  agent.TextKind `json:"subject,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	WaitsFor agent.WaitsFor `json:"waits_for"`
	Until    time.Time      `json:"until,omitzero"`
	// Callback is the URL to which the result of an external call can be sent: see [Callbacks]. It is a secret.
	Callback string   `json:"callback,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

func (a *Activities) newHookMessage(id string, in protocol.NotifyInput) hookMessage {
	data := hookData{
		AgentID: id, Agent: in.Agent, Parent: in.Parent, Status: in.Status, WaitsFor: in.WaitsFor, CallsOmitted: in.CallsOmitted,
		Class: in.Class, Message: in.Message, Stopped: in.Stopped, Answer: in.Answer,
	}
	switch {
	case in.On == agent.OnHeld:
		data.Commands = a.commands.Message(id)
	case in.Status == agent.Failed || in.Status == agent.Cancelled:
		data.Commands = a.commands.Resume(id)
	}
	for _, c := range in.Calls {
		call := hookCall{
			Key: c.Key, Handle: c.Key.Handle(), Tool: c.Tool, Arguments: c.Arguments, Question: c.Question, Subject: c.Subject, Reason: c.Reason, WaitsFor: c.WaitsFor,
			Commands: a.commands.Settle(id, c.Key, c.WaitsFor),
		}
		if json.Valid([]byte(c.Arguments)) {
			call.Text = proposal.Of(c.Tool, c.Arguments).Fold("").String()
		}
		if c.WaitsFor == agent.WaitsForResult {
			call.Callback = a.callbacks.url(id, c.Key)
		}
		if c.Until != 0 {
			call.Until = time.UnixMilli(c.Until).UTC()
		}
		data.Calls = append(data.Calls, call)
	}
	return hookMessage{Type: "agent." + string(in.On), Timestamp: time.UnixMilli(in.Time).UTC(), Key: in.Key, Data: data}
}
