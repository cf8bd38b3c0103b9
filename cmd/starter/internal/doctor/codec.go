package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/printable"
)

// checkCodec reads the newest agent, because its payloads need all that newer ones need, and most of what older ones do.
func checkCodec(ctx context.Context, p *patient) []object.Finding {
	opts, err := dial.WorkerOptions(p.flags.Address, p.flags.Namespace)
	if err != nil {
		return []object.Finding{wrong(err.Error(), codecCure)}
	}
	through := "without keys and without a codec server"
	switch {
	case dial.Codecs(opts.DataConverter) != nil:
		through = "with the keys"
	case opts.DataConverter != nil:
		through = "with the codec server"
	}
	for e, err := range p.agents.List(ctx, client.ListOptions{}) {
		if err != nil {
			return []object.Finding{failed("list the agents", err)}
		}
		_, err := p.agents.ShowRecorded(ctx, e.ID)
		switch {
		case errors.Is(err, client.ErrNotFound):
			continue // deleted meanwhile
		case ctx.Err() != nil:
			return []object.Finding{failed("read the newest agent", ctx.Err())}
		case err != nil:
			return []object.Finding{wrong(fmt.Sprintf("the newest agent, %s, cannot be read %s: %v", printable.Name(e.ID), through, err), codecCure)}
		}
		return []object.Finding{well("the newest agent, %s, can be read %s", printable.Name(e.ID), through)}
	}
	return []object.Finding{unchecked("whether agents can be read " + through + ": there is none")}
}

const codecCure = "set REAGENT_ENCRYPTION_KEYS_FILE to the file with all keys of the workers, or TEMPORAL_CODEC_ENDPOINT and TEMPORAL_CODEC_AUTH to their codec server; unset them if the workers use none"
