// Package activities implements the Temporal activities of agents. The activities read definitions, call models and tools,
// wait for sub-agents that were started before, and read the histories of earlier runs. The package `agent` decides what
// enters the transcript.
//
// API keys, addresses of endpoints and timeouts of tools belong to the configuration of the worker. They are not part of the
// inputs of activities.
package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/activities/internal/runs"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/telemetry"
	"github.com/reagent-dev/reagent/tool"
)

// Activities has the Temporal activities of agents as its methods. It is safe for concurrent use. Create it with [New], and
// register the methods with [Activities.Register].
type Activities struct {
	temporal       client.Client
	attempts       *attempt.Worker
	runs           *runs.Reader
	cache          *cache
	agents         map[string]Agent
	hooks          map[string]hook
	callbacks      *callbacks // nil if there are none
	commands       protocol.Commands
	models         map[string]Model
	tools          *tool.Registry
	callers        *callertoken.Cache // nil if no tool acts for callers
	development    bool
	more           Lookup
	toolTimeout    time.Duration
	streamer       Streamer
	telemetry      *telemetry.Telemetry
	redact         func(string) string
	rolloutTimeout time.Duration

	// paces holds a rate limiter for each model with a token limit, by the model's name: see [Activities.pace].
	paces     map[string]*rate.Limiter
	converter converter.DataConverter
	log       *slog.Logger
}

// New returns the activities of a worker. It checks the options, so that a worker with a mistake in its options fails when it
// starts. The error names every mistake in callbacks, agents, hooks and models. New does not look up the agents' tools: call
// [Activities.Check] for this.
func New(o Options) (*Activities, error) {
	if o.Temporal == nil {
		return nil, errors.New("activities: Options.Temporal is not set; set it to the Temporal client of the worker")
	}
	o = o.withDefaults()
	a := &Activities{
		temporal: o.Temporal, toolTimeout: o.ToolTimeout, commands: o.Commands, rolloutTimeout: o.RolloutTimeout, streamer: o.Streamer, telemetry: telemetry.New(telemetry.Options{Tracers: o.TracerProvider, Meters: o.MeterProvider, Content: o.TraceContent}), redact: o.Redact, converter: o.Converter, log: o.Log,
		// These and the kept results of the attempts have at most CacheBytes together.
		cache: newCache(o.CacheBytes / 2), runs: runs.NewReader(o.Temporal, o.Converter, o.CacheBytes*3/8, o.Log),
	}
	attempts := attempt.Options{
		Temporal: o.Temporal, Redact: o.Redact, ResultsBytes: o.CacheBytes / 8, ResultsDir: o.ResultsDir, Log: o.Log, Presence: o.Presence,
		Codecs: func() []converter.PayloadCodec { return dial.Codecs(o.Converter) },
	}
	var err error
	if a.attempts, err = attempt.NewWorker(attempts); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	return a, a.configure(o)
}

// names returns the ID of the agent to which an activity belongs, and the activity's own ID, which is an [agent.Key]. ctx must
// be the context of an activity.
func names(ctx context.Context) (agentID string, key agent.Key) {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID, agent.Key(info.ActivityID)
}
