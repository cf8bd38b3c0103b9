package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

type block struct {
	// raw is the JSON of a block of an earlier reply, such as thinking, which is sent back unchanged. If raw is set, the other
	// fields are not sent.
	raw json.RawMessage

	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Source is the field of an image block.
	Source *source `json:"source,omitempty"`
	// ID, Name and Input are the fields of a tool_use block.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID and Content are the fields of a tool_result block.
	ToolUseID string  `json:"tool_use_id,omitempty"`
	Content   []block `json:"content,omitempty"`

	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// MarshalJSON writes `raw` in place of the other fields if `raw` is set.
func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain block
	return endpoint.Encode(plain(b))
}

func (b block) thinks() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// appendText adds a text block, unless the text is empty or has only white space. The API refuses such text blocks.
func appendText(blocks []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return blocks
	}
	return append(blocks, block{Type: "text", Text: text})
}

func contentOf(m llm.Message) ([]block, error) {
	blocks := appendText(nil, m.Content)
	for _, part := range m.Parts {
		switch part.Type {
		case "text":
			blocks = appendText(blocks, part.Text)
		case "image":
			image, err := imageSource(part.URL)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block{Type: "image", Source: image})
		default:
			return nil, fmt.Errorf("a part of a message has the unknown type %q; use text or image", part.Type)
		}
	}
	return blocks, nil
}

// imageSource returns the source of an image with the given URL. The API does not load data: URLs, so their data is sent in base64. A data:
// URL without a comma, or with a wrong escape, is an error.
func imageSource(address string) (*source, error) {
	rest, found := strings.CutPrefix(address, "data:")
	if !found {
		return &source{Type: "url", URL: address}, nil
	}
	kind, data, found := strings.Cut(rest, ",")
	if !found {
		return nil, fmt.Errorf("the data: URL of an image has no comma; write it as data:TYPE;base64,DATA")
	}
	kind, encoded := strings.CutSuffix(kind, ";base64")
	if !encoded {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return nil, fmt.Errorf("the data: URL of an image is not valid: %w; write it as data:TYPE;base64,DATA", err)
		}
		data = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	kind, _, _ = strings.Cut(kind, ";") // the parameters of the type, such as a charset, have no meaning for an image
	if kind == "image/jpg" {
		kind = "image/jpeg" // the only name that the API accepts
	}
	return &source{Type: "base64", MediaType: kind, Data: data}, nil
}
