package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// maxDefinitionBytes limits the size of an agent's definition, in bytes. The definition is an activity result, and Temporal
// rejects payloads of more than 2 MB.
const maxDefinitionBytes = 1_500_000

// LoadAgent returns an agent's definition, made from the configuration and the tools of this worker. The agent keeps this
// definition even if the configuration changes. Only a reload of the agent replaces the definition. If an earlier run of the
// agent has loaded the definition already, LoadAgent returns the definition of that run.
//
// If this worker does not serve the agent, the error has the type [protocol.UnknownAgent]. If the definition cannot be made,
// the error has the type [protocol.BadAgent].
func (a *Activities) LoadAgent(ctx context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
	beat := a.attempts.Start(ctx, false, nil)
	defer beat.Stop()
	d, err := a.loadAgent(ctx, beat, in)
	if err != nil {
		beat.Report(err)
	}
	return d, err
}

func (a *Activities) loadAgent(ctx context.Context, beat *attempt.Attempt, in protocol.LoadAgentInput) (agent.Definition, error) {
	if err := beat.CheckLost("read the definition of agent " + in.Agent); err != nil {
		return agent.Definition{}, err
	}
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return agent.Definition{}, err
	}
	var earlier agent.Definition
	if ok, err := a.runs.Decode(m, &earlier); ok || err != nil {
		return earlier, err
	}
	if _, served := a.agents[in.Agent]; !served {
		return agent.Definition{}, a.unknownAgent(ctx, in.Agent)
	}
	d, err := a.define(ctx, in.Agent)
	if err != nil {
		if _, fixed := errors.AsType[*temporal.ApplicationError](err); fixed {
			return d, err
		}
		return d, temporal.NewNonRetryableApplicationError(err.Error(), protocol.BadAgent, nil)
	}
	// The first model call needs the prefix, and a query for it would be billed.
	head := d.RequestPrefix()
	a.cache.putHead(agent.HashPrefix(head), head)
	return d, nil
}

// unknownDelay is the retry delay of [Activities.LoadAgent] for an agent that this worker does not serve.
const unknownDelay = time.Second

// unknownAgent returns the error of [Activities.LoadAgent] for an agent that this worker does not serve. While a new
// configuration is rolled out worker by worker, another worker may serve the agent. Therefore the error is retryable until
// `Options.RolloutTimeout` has passed since the activity was scheduled.
func (a *Activities) unknownAgent(ctx context.Context, name string) error {
	return temporal.NewApplicationErrorWithOptions(
		fmt.Sprintf("there is no agent %q on this worker; it serves %s", name, strings.Join(slices.Sorted(maps.Keys(a.agents)), ", ")),
		protocol.UnknownAgent, temporal.ApplicationErrorOptions{
			NonRetryable:   time.Since(activity.GetInfo(ctx).ScheduledTime) >= a.rolloutTimeout,
			NextRetryDelay: unknownDelay,
		})
}

// Check makes the definition of each agent that this worker serves, and returns all errors together. Call it when the worker
// starts, to find mistakes in the configuration.
func (a *Activities) Check(ctx context.Context) error {
	_, err := a.Digest(ctx)
	return err
}

// Digest returns 12 hexadecimal digits of a hash of all definitions that this worker serves. Two workers have the same digest
// if their definitions are equal. The error is that of [Activities.Check].
func (a *Activities) Digest(ctx context.Context) (string, error) {
	var problems []error
	all := sha256.New()
	encode := json.NewEncoder(all)
	for _, name := range slices.Sorted(maps.Keys(a.agents)) {
		d, err := a.define(ctx, name)
		problems = append(problems, err, encode.Encode(d))
	}
	return hex.EncodeToString(all.Sum(nil))[:12], errors.Join(problems...)
}

// childBudget returns how long an agent waits for a sub-agent that it has called. The parameter is the sub-agent's own time
// limit for its work on one message. The result is this limit plus a margin: a tenth of the limit, but at least 30 seconds.
// Therefore a sub-agent that stops at its own limit can still answer in time.
func childBudget(turn time.Duration) time.Duration { return turn + max(turn/10, 30*time.Second) }

// define makes the definition of an agent that this worker serves. It returns an error if the configuration contradicts itself,
// if a tool cannot be found, if a key of the approval policy matches nothing, or if the definition is too large.
func (a *Activities) define(ctx context.Context, name string) (agent.Definition, error) {
	conf := a.agents[name]
	d := agent.Definition{
		Name: name, Description: conf.Description, Params: a.models[conf.Model].Params,
		Instructions: strings.ToValidUTF8(conf.Instructions, "\uFFFD"),
		Limits:       conf.Limits.WithDefaults(), KeepAgents: conf.KeepAgents, Priority: conf.Priority,
	}
	d.Params.OutputSchema, d.TaskQueue = conf.OutputSchema, a.models[conf.Model].TaskQueue
	if err := tool.CheckSchema(conf.OutputSchema); err != nil {
		return d, fmt.Errorf("agent %s: output_schema: %w", name, err)
	}
	priced := false
	for _, each := range conf.models() {
		model, ok := a.models[each]
		if !ok {
			return agent.Definition{}, fmt.Errorf("agent %s: there is no model %q: set Model and Fallback to names in Options.Models", name, each)
		}
		d.Candidates = append(d.Candidates, llm.Candidate{Name: each, Model: model.Model})
		d.Prices = append(d.Prices, model.Price)
		priced = priced || model.Price != agent.Price{}
		d.SendReasoning = d.SendReasoning || model.SendReasoning
	}
	if !priced {
		d.Prices = nil
	}
	bound, err := a.tools.Resolve(ctx, conf.Tools)
	if unknown, ok := errors.AsType[*tool.UnknownToolError](err); ok {
		return d, fmt.Errorf("agents.%s.tools[%d]: %w", name, slices.Index(conf.Tools, unknown.Ref), err)
	}
	if err != nil {
		return d, fmt.Errorf("agent %s: %w", name, err)
	}
	// A pattern that matches no tool may be a key of the approval policy, too: the server has no tools.
	approvalKeys := slices.Concat(conf.Tools, conf.Agents)
	for _, b := range bound {
		spec, keys := b.Tool.Spec(), toolKeys(b.Ref)
		approvalKeys = append(approvalKeys, keys...)
		d.Tools = append(d.Tools, agent.Tool{
			Name: spec.Name, Description: strings.ToValidUTF8(a.redact(spec.Description), "\uFFFD"), Schema: []byte(a.redact(string(spec.Schema))),
			Ref: b.Ref, Effect: string(spec.Effect), TaskQueue: spec.TaskQueue,
			Approval: conf.Approval.needs(spec.Destructive(), spec.NeedsApproval, keys...), ResultMS: spec.ResultTimeout.Milliseconds(),
		})
	}
	for _, sub := range conf.Agents {
		if i := slices.IndexFunc(d.Tools, func(t agent.Tool) bool { return t.Ref != "" && tool.LookAlike(t.Name, sub) }); i >= 0 {
			if d.Tools[i].Name != sub {
				return d, fmt.Errorf("agent %s: the name of the sub-agent %s looks like that of the tool %s; rename one of them", name, sub, d.Tools[i].Ref)
			}
			return d, fmt.Errorf("agent %s: the sub-agent %s has the name of a tool; rename one of them", name, sub)
		}
		t := agent.Tool{
			Name: sub, Description: a.agents[sub].Description, Schema: []byte(agent.ChildSchema), Agent: sub,
			Approval: conf.Approval.needs(true, false, sub),
			BudgetMS: childBudget(a.agents[sub].Limits.WithDefaults().Time).Milliseconds(), Priority: a.agents[sub].Priority,
		}
		if slices.Contains(conf.Background, sub) {
			t.Background, t.Schema = true, []byte(agent.BackgroundSchema)
		}
		d.Tools = append(d.Tools, t)
	}
	if len(conf.Background) > 0 {
		if i := slices.IndexFunc(d.Tools, func(t agent.Tool) bool { return tool.LookAlike(t.Name, agent.Agents) }); i >= 0 {
			return d, fmt.Errorf("agent %s: the name %q looks like %q, a tool for agents with sub-agents in the background; rename it", name, d.Tools[i].Name, agent.Agents)
		}
		d.Tools = append(d.Tools, agent.Tool{
			Name: agent.Agents, Ref: agent.Agents, Schema: []byte(agent.AgentsSchema), Effect: string(tool.Idempotent),
			Description: "Lists the agents that work for you in the background, stops one of them, or sends it a message.",
		})
	}
	if err := conf.Approval.checkKeys(approvalKeys); err != nil {
		return d, fmt.Errorf("agent %s: %w", name, err)
	}
	for i := range d.Tools {
		if d.Tools[i].Approval {
			d.Tools[i].ApprovalMS = conf.ApprovalTimeout.Milliseconds()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.hooks)) {
		d.Notify = append(d.Notify, agent.Hook{Name: name, On: a.hooks[name].On})
	}
	slices.SortFunc(d.Tools, func(x, y agent.Tool) int { return strings.Compare(x.Name, y.Name) })
	for _, t := range d.Tools {
		if len(t.Schema) == 0 {
			continue
		}
		if _, err := canon.Text(t.Schema); err != nil {
			return d, fmt.Errorf("agent %s: the schema of tool %s: %w", name, t.Name, err)
		}
	}
	if size := payload.Size(d); size > maxDefinitionBytes {
		return d, fmt.Errorf("agent %s: instructions and tool schemas have %d bytes; the limit is %d: give the agent fewer tools or shorter instructions",
			name, size, maxDefinitionBytes)
	}
	return d, nil
}
