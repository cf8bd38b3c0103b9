package activities

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
)

// bytesPerToken is the approximate number of bytes of a request that make one token: see [estimate].
const bytesPerToken = 4

// pace makes a rate limiter for each model that has a token limit. Before a model call, [Activities.wait] takes the estimated
// tokens of the request from the limiter. After the call, [Activities.used] takes the rest if the estimate was too low.
func (a *Activities) pace(models map[string]Model) {
	a.paces = map[string]*rate.Limiter{}
	for name, m := range models {
		if n := m.TokensPerMinute; n > 0 {
			a.paces[name] = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
	}
}

func (a *Activities) wait(ctx context.Context, model string, req llm.Request) error {
	limiter := a.paces[model]
	if limiter == nil {
		return nil
	}
	return limiter.WaitN(ctx, min(estimate(req), limiter.Burst()))
}

// used takes from the model's rate limiter the tokens by which the estimate was too low. If the estimate was too high, it gives
// nothing back.
func (a *Activities) used(model string, req llm.Request, reply llm.Reply) {
	limiter := a.paces[model]
	if limiter == nil {
		return
	}
	more := reply.Usage.Bounded().Tokens() - estimate(req)
	if more = min(more, limiter.Burst()); more > 0 {
		limiter.ReserveN(time.Now(), more)
	}
}

// estimate returns the approximate number of input tokens of a request.
func estimate(req llm.Request) int { return payload.Size(req)/bytesPerToken + 1 }
