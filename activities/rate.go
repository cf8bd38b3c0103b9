package activities

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
)

// bytesPerToken is a rough ratio, with which estimate computes the tokens of a request from its size.
const bytesPerToken = 4

// pace creates the rate limiters of the models that have a token limit. Before a model call, wait takes an estimate of the
// request's tokens from the limiter. After the call, used takes the tokens that the provider counted in addition.
func (a *Activities) pace(models map[string]Model) {
	a.paces = map[string]*rate.Limiter{}
	for name, m := range models {
		if n := m.TokensPerMinute; n > 0 {
			a.paces[name] = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
	}
}

// wait blocks until the token limit of the model allows the request. It returns an error if the context ends first.
func (a *Activities) wait(ctx context.Context, model string, req llm.Request) error {
	limiter := a.paces[model]
	if limiter == nil {
		return nil
	}
	return limiter.WaitN(ctx, min(estimate(req), limiter.Burst()))
}

// used takes the tokens from the model's limiter by which the provider's count of a call exceeds the estimate. It gives nothing
// back if the estimate was too high.
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

// estimate returns the approximate number of input tokens of a request.
func estimate(req llm.Request) int { return payload.Size(req)/bytesPerToken + 1 }
