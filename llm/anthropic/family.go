package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// familyOf returns the value of [llm.Opaque.Family] for the replies to a request. The value contains a hash of the beginning of the
// request: the tools, the system prompt and the first message. The reason is that newer models refuse a thinking block if anything before
// it has changed (Anthropic: "Preserved thinking"). Only the beginning can change: a compaction replaces the first message, and a reload
// may change the tools and the system prompt.
func familyOf(host, model string, req llm.Request) string {
	sum := sha256.New()
	write := func(v any) {
		encoded, _ := endpoint.Encode(v) // cannot fail: texts and JSON schemas have a JSON form
		sum.Write(append(encoded, '\n'))
	}
	write(req.Tools)
	for _, m := range req.Messages {
		write(m.Content)
		write(m.Parts)
		if m.Role != llm.System {
			break
		}
	}
	return endpoint.Family(host, model) + "#" + hex.EncodeToString(sum.Sum(nil))[:8]
}

// sameEndpoint reports whether two families differ at most in the beginning of the request.
func sameEndpoint(a, b string) bool {
	a, _, _ = strings.Cut(a, "#")
	b, _, _ = strings.Cut(b, "#")
	return a == b
}

// wantsThinking reports whether the provider of a model demands the thinking of all earlier replies that called tools. Claude is the
// opposite: it accepts only what it has signed, and only after the same beginning. The name of a model does not say that it is Claude:
// DeepSeek accepts the names of Claude for its own models. Sources: DeepSeek's guides "Anthropic API" and "Thinking Mode", MiniMax's
// "Compatible Anthropic API", Xiaomi's "Passing back reasoning_content", and for Kimi the issue farion1231/cc-switch#3351.
func wantsThinking(host, model string) bool {
	provider, line := endpoint.Provider(host), endpoint.Line(model)
	return slices.Contains([]string{"deepseek", "moonshot", "minimax", "xiaomi"}, provider) || slices.Contains([]string{"deepseek", "kimi", "minimax", "mimo"}, line)
}
