package activities

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/tool"
)

// messenger is the tool that sends a message of the model to a sub-agent in the background: see [agent.Agents].
type messenger struct {
	agents *client.Client
	to     string // the agent ID of the sub-agent
}

// Spec says that the tool is idempotent: the ID of the message is the key of the call, so the sub-agent takes the message only once.
func (m messenger) Spec() tool.Spec {
	return tool.Spec{Name: agent.Agents, Schema: []byte(agent.AgentsSchema), Effect: tool.Idempotent, NotDestructive: true}
}

// Call sends the message. If the sub-agent has ended, or refuses the message, the result says so. After any other error, for example
// because no worker answers for the sub-agent, Temporal tries the call again. The message never becomes the answer to a question that
// the sub-agent asks a person.
func (m messenger) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	call := agent.Call{Arguments: string(args)}
	info := tool.InfoFrom(ctx)
	_, err := m.agents.Send(ctx, m.to, client.Message{ID: info.Key, Text: call.ForChild(), Metadata: info.Metadata, Steer: true, Automatic: true})
	switch {
	case err == nil:
		return tool.Result{Content: "sent: the agent reads the message before its next step"}, nil
	case errors.Is(err, client.ErrClosed):
		return tool.Result{Content: "error: not sent: the agent has ended, and its result comes as a message", IsError: true}, nil
	case errors.Is(err, client.ErrRefused), errors.Is(err, agent.ErrMessage):
		return tool.Result{Content: "error: not sent: " + err.Error(), IsError: true}, nil
	}
	return tool.Result{}, err
}
