package anthropic

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// familyOf returns the value of the field Family of [llm.Opaque] for the replies to a request. It has a hash of the beginning of the
// request: the tools, the system prompt and the first message. The newer models refuse a thinking block if anything before it has
// changed (Anthropic: "Preserved thinking"). A compaction replaces the first message, and a reload may change the tools and the system
// prompt; all else of a conversation stays as it is.
func familyOf(host, model string, req llm.Request) string {
	sum := sha256.New()
	write := func(v any) {
		encoded, _ := endpoint.Encode(v) // texts and JSON schemas, which the request was checked for
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
