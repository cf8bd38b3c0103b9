package models_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// stage is a world with the stand-in for a block of the guide, and with the tool look.
type stage struct {
	*world.World
	name     string
	far      *llmtest.Model    // makes the replies
	provider *standin.Provider // nil for APIs that have their own rules
	prefix   *standin.PrefixCache
	marked   *standin.PromptCache
	// marks says that the provider has Anthropic's Messages API, so `marked` counts its tokens. Otherwise `prefix` does.
	marks bool
	// gate holds the calls of look for Oslo; nil holds none.
	gate atomic.Pointer[world.Gate]
}

// newStage makes the world for a block of the guide. `agents` is the configuration of the agents, in which %d stands for `window`, the number
// of tokens at which a conversation is summarised. `faults` may be nil.
func newStage(
	t *testing.T, name, model, agents string, window int, talk func(context.Context, llm.Request) (llm.Reply, error), faults *standin.Faults,
) *stage {
	require.Contains(t, providers, name)
	s := &stage{
		name: name, far: llmtest.Func(talk), prefix: &standin.PrefixCache{}, marked: &standin.PromptCache{},
		marks: strings.Contains(model, "provider: anthropic"),
	}
	if providers[name] != nil {
		s.provider = providers[name]()
	}
	tools := world.NewToolServer(t)
	tools.Add("look", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) {
		if g := s.gate.Load(); g != nil && e.Arguments == `{"city":"Oslo"}` {
			if err := g.Pass(ctx); err != nil {
				return "", err
			}
		}
		return "Sunny.", nil
	})
	s.World = world.New(t, s.far.Complete, tools, "", func(e *standin.Endpoint) {
		e.Client, e.Provider, e.PrefixCache, e.PromptCache, e.Faults = s.far, s.provider, s.prefix, s.marked, faults
	})
	if s.marks {
		window *= 5 // the stand-in counts bytes
	}
	model = keyCommand.ReplaceAllString(model, "api_key_command: [echo, key-of-a-stand-in]")
	model = url.ReplaceAllString(model, `base_url: "`+strings.TrimSuffix(s.Model.URL, "/v1"))
	s.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n%smcp_servers:\n  far: {url: %q}\nagents:\n"+agents, s.Queue, model, tools.URL, window))
	return s
}
