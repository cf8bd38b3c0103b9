package activities

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
)

// bytesPerToken is a rough measure for what is about to be sent.
const bytesPerToken = 4

// pace makes the limiters of the models that have a bound on tokens. What a request will take is estimated
// by its length, and put right by what the provider counts.
func (a *Activities) pace(models map[string]Model) {
	a.paces = map[string]*rate.Limiter{}
	for name, m := range models {
		if n := m.TokensPerMinute; n > 0 {
			a.paces[name] = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
	}
}

// wait waits until the model may be sent the request.
func (a *Activities) wait(ctx context.Context, model string, req llm.Request) error {
	limiter := a.paces[model]
	if limiter == nil {
		return nil
	}
	return limiter.WaitN(ctx, min(estimate(req), limiter.Burst()))
}

// used puts right what was estimated.
func (a *Activities) used(model string, req llm.Request, reply llm.Reply) {
	limiter := a.paces[model]
	if limiter == nil {
		return
	}
	more := reply.Usage.InputTokens + reply.Usage.OutputTokens - estimate(req)
	if more = min(more, limiter.Burst()); more > 0 {
		limiter.ReserveN(time.Now(), more)
	}
}

func estimate(req llm.Request) int { return payload.Size(req)/bytesPerToken + 1 }
