package doctor

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/dial"
)

func checkConnection(ctx context.Context, p *patient) []object.Finding {
	opts, err := dial.ClientOptions(p.flags.Address, p.flags.Namespace)
	if err != nil {
		return []object.Finding{wrong(err.Error(), "correct --address, --namespace, the variables TEMPORAL_… or the file temporal.toml")}
	}
	how := "without TLS"
	if opts.ConnectionOptions.TLS != nil {
		how = "with TLS"
	}
	if opts.Credentials != nil {
		how += " and an API key"
	}
	if p.temporal, err = p.flags.Dial(ctx); err != nil {
		cure := "check --address or TEMPORAL_ADDRESS, TEMPORAL_TLS and TEMPORAL_API_KEY; on this machine, `starter dev` starts a server"
		return []object.Finding{wrong(fmt.Sprintf("%v (tried %s)", err, how), cure, "starter dev")}
	}
	p.agents = client.New(p.temporal, "")
	if opts.DataConverter != nil {
		p.agents = p.agents.WithConverter(opts.DataConverter)
	}
	return []object.Finding{well("connected to Temporal at %s %s", opts.HostPort, how)}
}
