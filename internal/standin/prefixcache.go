package standin

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// tokenSize is the size of a token of a [PrefixCache], in bytes.
const tokenSize = 4

// PrefixCache counts tokens like the automatic prompt caching of OpenAI. A request is a sequence: the tools, the response format,
// and then the messages. The cache remembers each prefix of each request, in whole messages and for each model. In a later
// request, the tokens of the longest prefix that the cache knows are cached tokens. Two messages are equal if they have the same
// members with the same values. The order of the members does not matter, because it does not change the prompt of the model.
// Source: OpenAI's guide "Prompt caching".
//
// Set the field [Endpoint.PrefixCache]. The Endpoint then sets the input tokens and the cached tokens of each reply. A token is 4
// bytes of JSON. The zero PrefixCache is ready to use. It is safe for concurrent use.
type PrefixCache struct {
	// Least is the minimum length of a prefix that is cached, in tokens. OpenAI's minimum is 1024. Defaults to 0. Set it before the
	// first request.
	Least int

	mu     sync.Mutex
	known  map[[sha256.Size]byte]bool
	usages []llm.Usage
}

// Usages returns the usage of each request so far, in the order of arrival. Only the input tokens and the cached tokens are set.
func (c *PrefixCache) Usages() []llm.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.usages)
}

// count adds a request to the cache. It returns the usage `u` with the numbers of input tokens and cached tokens. If `c` is nil,
// count returns `u` unchanged.
func (c *PrefixCache) count(body []byte, u llm.Usage) llm.Usage {
	if c == nil {
		return u
	}
	units := prefixUnits(body)

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[sha256.Size]byte]bool{}
	}
	var prefix [sha256.Size]byte
	size, cached := 0, 0
	for i, unit := range units {
		prefix = sha256.Sum256(append(prefix[:], unit...))
		if i > 0 { // the first unit is the name of the model, which is no part of the prompt
			size += len(unit)
		}
		if c.known[prefix] && size/tokenSize >= c.Least {
			cached = size / tokenSize
		}
		c.known[prefix] = true
	}
	u.InputTokens, u.CachedTokens = size/tokenSize, cached
	c.usages = append(c.usages, llm.Usage{InputTokens: u.InputTokens, CachedTokens: u.CachedTokens})
	return u
}

// prefixUnits returns the units of a request in a canonical form: the name of the model, the tools with the response format and the
// instructions, and each message or item.
func prefixUnits(body []byte) [][]byte {
	var wire struct {
		Model    any   `json:"model"`
		Tools    any   `json:"tools"`
		Format   any   `json:"response_format"`
		Messages []any `json:"messages"`
		// These are the members of OpenAI's Responses API.
		Text         any   `json:"text"`
		Instructions any   `json:"instructions"`
		Input        []any `json:"input"`
	}
	_ = json.Unmarshal(body, &wire)
	units := [][]byte{compact(wire.Model), nil}
	if wire.Tools != nil || wire.Format != nil || wire.Text != nil || wire.Instructions != nil {
		units[1] = compact([]any{wire.Tools, wire.Format, wire.Text, wire.Instructions})
	}
	for _, m := range append(wire.Messages, wire.Input...) {
		units = append(units, compact(m))
	}
	return units
}
