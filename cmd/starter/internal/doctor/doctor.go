// Package doctor looks for what keeps agents from working: in the connection to Temporal, the namespace, the workers, the configuration, the
// models, and the agents themselves. Each check is a value of its own, in a file of its own. It only reads, unless an option says otherwise.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/serve"
)

// Options say what [Examine] may do besides reading.
type Options struct {
	// CallModels asks each model for a few tokens.
	CallModels bool
	// MCP starts the MCP servers, and stops them again.
	MCP bool
}

// check is one thing that [Examine] looks at.
type check struct {
	name string
	// needs are the names of earlier checks. If one of them has found a problem, this check is left out.
	needs []string
	// limit is the longest time that it may take.
	limit time.Duration
	run   func(ctx context.Context, p *patient) []object.Finding
}

// short is the limit of checks that need only a few small requests, and long that of checks that read histories or start programs.
const short, long = 15 * time.Second, time.Minute

var checks = []check{
	{"connection", nil, short, checkConnection},
	{"server", []string{"connection"}, short, checkServer},
	{"namespace", []string{"connection"}, short, checkNamespace},
	{"retention", []string{"namespace"}, short, checkRetention},
	{"clock", []string{"namespace"}, short, checkClock},
	{"heartbeats", []string{"namespace"}, short, checkHeartbeats},
	{"attributes", []string{"namespace"}, short, checkAttributes},
	{"configuration", nil, 2 * long, checkConfiguration},
	{"mcp", nil, short, checkServers},
	{"models", nil, long, checkModels},
	{"workers", []string{"namespace"}, short, checkWorkers},
	{"codec", []string{"namespace"}, short, checkCodec},
	{"held", []string{"namespace"}, long, checkHeld},
	{"stuck", []string{"namespace"}, long, checkStuck},
	{"people", []string{"namespace"}, long, checkPeople},
}

// patient is what the checks examine. Earlier checks fill in what later ones read.
type patient struct {
	flags   *session.Flags
	options Options
	stderr  io.Writer
	// temporal and agents are set by the check of the connection.
	temporal sdk.Client
	agents   *client.Client
	// retention is that of the namespace; 0 means unknown.
	retention time.Duration
	// searchable says that the namespace has the search attributes of agents, and problems that it has those of Temporal about failing
	// workflow tasks.
	searchable, problems bool
	// cfg is the configuration, as far as it can be read; nil if there is none. report is what the check of it has found.
	cfg    *config.Config
	report *serve.Report
}

// Examine makes all checks, and calls `tell` with each finding. It goes on after a problem. What takes long is told on stderr. The result has
// all findings. The error is that of `tell`, or says that `ctx` has ended.
func Examine(ctx context.Context, flags *session.Flags, o Options, stderr io.Writer, tell func(object.Finding) error) ([]object.Finding, error) {
	p := &patient{flags: flags, options: o, stderr: stderr}
	defer func() {
		if p.temporal != nil {
			p.temporal.Close()
		}
	}()
	return examine(ctx, checks, p, tell)
}

func examine(ctx context.Context, all []check, p *patient, tell func(object.Finding) error) (found []object.Finding, err error) {
	lacking := map[string]bool{} // the checks on which no other can build
	for _, c := range all {
		var its []object.Finding
		if i := slices.IndexFunc(c.needs, func(name string) bool { return lacking[name] }); i >= 0 {
			lacking[c.name] = true
			its = []object.Finding{unchecked("not checked, because of the problem with the " + c.needs[i])}
		} else {
			its = c.bounded(ctx, p)
		}
		if ctx.Err() != nil {
			return found, fmt.Errorf("the checks were stopped: %w", context.Cause(ctx))
		}
		for _, f := range its {
			f.Check = c.name
			lacking[c.name] = lacking[c.name] || f.Level == object.Wrong
			found = append(found, f)
			if err := tell(f); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// bounded makes the check within its limit.
func (c check) bounded(ctx context.Context, p *patient) []object.Finding {
	slow := time.AfterFunc(progress.Silence, func() { fmt.Fprintf(p.stderr, "Checking: %s …\n", c.name) })
	defer slow.Stop()
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.run(ctx, p)
}
