package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

// responseRequest has the parameters of POST /v1/responses that an agent takes. The others are ignored, except those that
// [responseRequest.check] refuses.
type responseRequest struct {
	Model              string           `json:"model"`
	Input              input            `json:"input"`
	Instructions       string           `json:"instructions"`
	PreviousResponseID string           `json:"previous_response_id"`
	Conversation       conversationName `json:"conversation"`
	Stream             bool             `json:"stream"`
	Background         bool             `json:"background"`
	Metadata           agent.Metadata   `json:"metadata"`
	Tools              []requestTool    `json:"tools"`
	Text               struct {
		Format *responseFormat `json:"format"`
	} `json:"text"`
	Prompt      json.RawMessage `json:"prompt"`
	Store       *bool           `json:"store"`
	TopLogprobs int             `json:"top_logprobs"`
}

// conversationName is the ID of a conversation, as a text or in an object.
type conversationName string

// UnmarshalJSON reads a text, null or an object with the field id.
func (n *conversationName) UnmarshalJSON(data []byte) error {
	var id string
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		var object conversationRef
		if err := decodeForeign(data, &object); err != nil {
			return err
		}
		id = object.ID
	} else if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	*n = conversationName(id)
	return nil
}

func (r *responseRequest) check() error {
	switch {
	case len(r.Prompt) > 0 && !bytes.Equal(r.Prompt, []byte("null")):
		return unsupported("prompt", "stored prompts are not known here; the agent has its own instructions, and the field instructions adds to them")
	case r.PreviousResponseID != "" && r.Conversation != "":
		return invalid("conversation", "previous_response_id and conversation exclude each other; give one of them")
	case r.TopLogprobs > 0:
		return unsupported("top_logprobs", "an agent has no log probabilities; leave top_logprobs out")
	case r.Store != nil && !*r.Store && r.Background:
		return invalid("store", "a response in the background is always stored")
	}
	return nil
}

// message returns the message of the request. Its text may be empty.
func (r *responseRequest) message(req *http.Request, in given) (client.Message, error) {
	m := client.Message{Text: in.text, Images: in.images, By: access.FromContext(req.Context()).Name, Metadata: agent.Metadata{}}
	if err := checkMetadata(r.Metadata); err != nil {
		return m, err
	}
	m.Metadata = m.Metadata.With(r.Metadata)
	if r.PreviousResponseID != "" {
		m.Metadata = m.Metadata.With(agent.Metadata{metadataPrevious: "1"})
	}
	if r.Background {
		m.Metadata = m.Metadata.With(agent.Metadata{metadataBackground: "1"})
	}
	var err error
	if m.Overrides.ClientTools, err = clientTools(r.Tools); err != nil {
		return m, err
	}
	schema, name, err := formatOf("text.format", r.Text.Format)
	if err != nil {
		return m, err
	}
	if m.Overrides.OutputSchema = schema; name != "" {
		m.Metadata = m.Metadata.With(agent.Metadata{metadataSchemaName: name})
	}
	m.Overrides.Instructions = joined(r.Instructions, in.instructions)
	m.ID, _, err = messageID(req)
	return m, err
}

func joined(a, b string) string {
	if a != "" && b != "" {
		return a + "\n\n" + b
	}
	return a + b
}
