package config

import (
	"math"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

func (r *reader) model(p place) Model {
	m := Model{Provider: "openai", Timeout: DefaultModelTimeout}
	p.requires("model")
	r.object(p, joined(r.key(&m.Key), r.tls(&m.TLS), r.endpoint(&m), r.params(&m.Params), keys{
		"model": {"The provider's name of the model.", r.text(&m.Model)},
		"price": {"Prices in US dollars for a million tokens.", func(p place) { m.Price = r.price(p) }},
		"rate": {"Limits per minute.", func(p place) {
			r.object(p, keys{
				"requests_per_minute": {"The requests of all workers together.", r.integer(&m.RequestsPerMinute, 1, math.MaxInt32)},
				"tokens_per_minute":   {"The tokens of each worker.", r.integer(&m.TokensPerMinute, 1, math.MaxInt32)},
			})
		}},
	}))
	// The default endpoint is the provider's, which needs a key. Another endpoint gets a key only if the file names one.
	if m.BaseURL == "" && m.Platform == "" {
		var keyEnv string
		if m.BaseURL, keyEnv = r.defaultEndpoint(m.Provider, p); !m.set() {
			m.APIKeyEnv = keyEnv
		}
	}
	return m
}

// endpoint reads how a model is asked.
func (r *reader) endpoint(m *Model) keys {
	return keys{
		"provider": {"The kind of the endpoint: openai means any OpenAI-compatible endpoint.", r.oneOf(&m.Provider,
			"%q is not a known provider; write openai, which means any OpenAI-compatible endpoint, or anthropic", "openai", "anthropic")},
		"platform": {"Where a model of the provider anthropic runs; without it, at Anthropic.",
			r.oneOf(&m.Platform, "%q is not a platform; write vertex or bedrock, or remove it for Anthropic's API", "vertex", "bedrock")},
		"api": {"The API of the provider openai; auto by default.",
			r.oneOf(&m.API, "%q is not an API of the provider openai; write chat, responses or auto", "auto", "chat", "responses")},
		"base_url": {"The URL of the endpoint, without /chat/completions, /responses or /v1/messages; that of the provider by default.",
			r.webURL(&m.BaseURL)},
		"headers": {"Headers of every request; values may have references such as ${NAME}, ${file:PATH} and ${api_key}.",
			r.references(&m.Headers, headerName, "is not the name of a header")},
		"query": {"Added to the URL of every request; values may have references such as ${NAME}, ${file:PATH} and ${api_key}.",
			r.references(&m.Query, queryName, "is not the name of a query parameter")},
		"timeout":      {"The longest time to the first part of a reply, and from each part to the next.", r.duration(&m.Timeout)},
		"idle_timeout": {"The longest silence after a streamed reply has begun; 2m by default.", r.duration(&m.IdleTimeout)},
		"retry_for":    {"How long a call is tried again in an outage, for agents whose model this is; 2m by default.", r.duration(&m.RetryFor)},
		"stream":       {"Whether replies are streamed.", r.negated(&m.NoStream)},
		"prompt_cache": {"The prompt cache of the provider anthropic: true for 5 minutes, 1h for an hour, or false.", r.promptCache(&m.PromptCache)},
		"reasoning": {"How the reasoning of earlier replies goes back to the model; the default depends on the model.", func(p place) {
			r.object(p, keys{
				"send": {"When it goes back; turn means only within the running turn.",
					r.oneOf(&m.Reasoning.Send, "is %q; write never, turn or always", "never", "turn", "always")},
				"field": {"The field of the message that has the reasoning; reasoning_content by default.", r.text(&m.Reasoning.Field)},
			})
		}},
	}
}

// params reads the parameters of the requests to a model.
func (r *reader) params(to *llm.Params) keys {
	return keys{
		"temperature":       {"The sampling temperature; the provider's by default.", r.float(&to.Temperature, 0, 2)},
		"top_p":             {"The share of likely tokens from which is sampled; the provider's by default.", r.float(&to.TopP, 0, 1)},
		"max_output_tokens": {"The largest number of tokens of a reply.", r.integer(&to.MaxOutputTokens, 1, math.MaxInt32)},
		"seed": {"The seed of the sampling, where the provider has one.", func(p place) {
			to.Seed = new(int)
			r.integer(to.Seed, math.MinInt, math.MaxInt)(p)
		}},
		"reasoning_effort": {"How much the model reasons, such as low, medium or high.", r.text(&to.ReasoningEffort)},
		"parallel_tool_calls": {"Whether one reply may have several tool calls.", func(p place) {
			to.ParallelToolCalls = new(bool)
			r.boolean(to.ParallelToolCalls)(p)
		}},
		"tool_choice": {"Whether the model may or must call a tool: auto, none, required or the name of a tool.", r.text(&to.ToolChoice)},
		"extra":       {"Further fields for the body of every request, sent unchanged.", func(p place) { to.Extra = r.extra(p) }},
	}
}

func (r *reader) defaultEndpoint(provider string, p place) (baseURL, keyEnv string) {
	if provider == "anthropic" {
		return DefaultAnthropicURL, AnthropicKeyEnv
	}
	base := os.Getenv(BaseURLEnv)
	if base == "" {
		return DefaultBaseURL, DefaultAPIKeyEnv
	}
	if problem := checkWebURL(base); problem != "" {
		r.problemf(p.path, "has no base_url, and the environment variable %s, which is used instead, %s", BaseURLEnv, problem)
	}
	if os.Getenv(DefaultAPIKeyEnv) == "" { // the endpoint in OPENAI_BASE_URL may need no key
		return base, ""
	}
	return base, DefaultAPIKeyEnv
}

// If the file has no price for cached input, cached input costs as much as other input.
func (r *reader) price(p place) agent.Price {
	var price agent.Price
	r.object(p, keys{
		"input":       {"Input that is not cached.", r.money(&price.Input, 1_000_000)},
		"cached":      {"Input that was cached; like other input by default.", r.money(&price.Cached, 1_000_000)},
		"cache_write": {"Input that is written to the cache; like other input by default.", r.money(&price.CacheWrite, 1_000_000)},
		"output":      {"Output, with reasoning.", r.money(&price.Output, 1_000_000)},
	})
	if !r.present(p.key("cached")) {
		price.Cached = price.Input
	}
	return price
}

func (r *reader) promptCache(into *string) func(place) {
	return func(p place) {
		if p.shape != nil {
			enum(p.shape, []any{true, false, "1h"})
			return
		}
		var on bool
		switch {
		case p.node.Kind == yaml.ScalarNode && p.node.Value == "1h":
			*into = "1h"
		case p.node.ShortTag() != "!!bool" || p.node.Decode(&on) != nil:
			r.problemf(p.path, "must be true, false or 1h, not %s", quoted(p))
		case !on:
			*into = "off"
		}
	}
}
