package standin

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// PromptCache counts tokens as Anthropic's prompt cache does. Set the field [Endpoint.PromptCache]. The Endpoint then sets the
// numbers of input tokens in the usage of the replies. One byte of JSON counts as one token. The zero PromptCache is ready to
// use. It is safe for concurrent use.
//
// A prompt is a list of blocks: the tools, the blocks of the system prompt, and the blocks of the messages. A request stores the
// part of the prompt from its beginning up to each mark (`cache_control`). It reads the longest stored part that ends at a mark or
// at one of the 19 blocks before it. A stored part is found only if all its bytes are the same. The marks are not part of the
// prompt, and nothing expires.
type PromptCache struct {
	// Minimum is the length of the shortest part that is stored, in tokens. Defaults to 0. Set it before the first request.
	Minimum int

	mu     sync.Mutex
	stored map[[sha256.Size]byte]bool
	counts []CacheCount
}

// CacheCount has the numbers of input tokens of one request.
type CacheCount struct {
	// Read and Written are the tokens that were read from the cache, and those that were written to it.
	Read, Written int
	// New are the other tokens.
	New int
}

// lookback is the number of blocks at which a stored part may end, counted backwards from a mark. The block with the mark is
// included.
const lookback = 20

// Counts returns the numbers of tokens of the requests so far, in the order of arrival.
func (c *PromptCache) Counts() []CacheCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.counts)
}

// count counts the tokens of a request, and stores the marked parts of its prompt. It returns the usage `u` with the numbers of
// input tokens. If `c` is nil, count returns `u` unchanged.
func (c *PromptCache) count(body []byte, u llm.Usage) llm.Usage {
	if c == nil {
		return u
	}
	prompt := promptOf(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored == nil {
		c.stored = map[[sha256.Size]byte]bool{}
	}
	var n CacheCount
	for i, b := range prompt {
		if !b.marked {
			continue
		}
		for j := i; j > i-lookback && j >= 0; j-- {
			if c.stored[prompt[j].digest] {
				n.Read = max(n.Read, prompt[j].end)
				break
			}
		}
	}
	for _, b := range prompt {
		if b.marked && b.end >= c.Minimum {
			c.stored[b.digest] = true
			n.Written = b.end - n.Read
		}
	}
	n.Written = max(n.Written, 0)
	if len(prompt) > 0 {
		n.New = prompt[len(prompt)-1].end - n.Read - n.Written
	}
	c.counts = append(c.counts, n)
	u.InputTokens, u.CachedTokens, u.CacheWriteTokens = n.Read+n.Written+n.New, n.Read, n.Written
	return u
}

// promptBlock is a tool or a block of a prompt.
type promptBlock struct {
	marked bool
	end    int               // the number of tokens up to the end of the block
	digest [sha256.Size]byte // of all bytes up to the end of the block
}

// promptOf returns the blocks of the prompt in the body of a request. All digests depend on the model. The digests of the
// messages also depend on the tool choice, on the field `thinking` and on the effort.
func promptOf(body []byte) []promptBlock {
	var wire struct {
		Model        json.RawMessage   `json:"model"`
		Tools        []json.RawMessage `json:"tools"`
		System       []json.RawMessage `json:"system"`
		ToolChoice   json.RawMessage   `json:"tool_choice"`
		Thinking     json.RawMessage   `json:"thinking"`
		OutputConfig struct {
			Effort json.RawMessage `json:"effort"`
		} `json:"output_config"`
		Messages []struct {
			Role    string            `json:"role"`
			Content []json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &wire) // the Endpoint refuses a body that cannot be decoded
	var all []promptBlock
	digest := sha256.Sum256(wire.Model)
	end := 0
	mix := func(parts ...[]byte) {
		h := sha256.New()
		h.Write(digest[:])
		for _, part := range parts {
			h.Write(part)
			h.Write([]byte{0})
		}
		digest = [sha256.Size]byte(h.Sum(nil))
	}
	add := func(kind string, block json.RawMessage) {
		content, marked := unmarked(block)
		mix([]byte(kind), content)
		end += len(content)
		all = append(all, promptBlock{marked, end, digest})
	}
	for _, tool := range wire.Tools {
		add("tool", tool)
	}
	for _, block := range wire.System {
		add("system", block)
	}
	mix(wire.ToolChoice, wire.Thinking, wire.OutputConfig.Effort)
	for _, turn := range wire.Messages {
		mix([]byte(turn.Role))
		for _, block := range turn.Content {
			add("block", block)
		}
	}
	return all
}

// unmarked returns the members of a block without its mark, and whether the block has a mark. The members keep their order and
// their bytes.
func unmarked(block json.RawMessage) (content []byte, marked bool) {
	decoder := json.NewDecoder(bytes.NewReader(block))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return block, false
	}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return block, false
		}
		if name == "cache_control" {
			marked = true
			continue
		}
		content = append(append(append(content, compact(name)...), ':'), value...)
	}
	return content, marked
}
