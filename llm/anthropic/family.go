package anthropic

import (
	"crypto/sha256"
	"encoding/hex"

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
