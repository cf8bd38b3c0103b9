package standin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// Bedrock is the Messages API as Amazon Bedrock has it in its operations InvokeModel and InvokeModelWithResponseStream. The path says which
// model is asked, and whether the reply is streamed:
//   - The path is /model/MODEL/invoke or /model/MODEL/invoke-with-response-stream. A slash in the model's ID is escaped.
//   - The body has "anthropic_version":"bedrock-2023-05-31", and neither `model` nor `stream`.
//   - A request needs a bearer token or a signature, which is not checked.
//   - A stream has Amazon's binary encoding, with one event in each frame. An error in it is an exception.
//
// Sources: Anthropic's page "Claude on Amazon Bedrock (legacy)", Amazon's API reference of the operations and of ResponseStream,
// fumito-ito/AnthropicSwiftSDK#19 for the wording of unknown fields, BerriAI/litellm#30314 for that of missing ones. The wording for another
// version has the same form.
var Bedrock API = bedrock{}

type bedrock struct {
	messages
	model  string // the model in the path
	stream bool   // whether the path asks for a stream
}

const bedrockVersion = "bedrock-2023-05-31"

var bedrockPath = regexp.MustCompile(`^/model/([^/]+)/(invoke|invoke-with-response-stream)$`)

// bedrockAt returns the API at a URL, if it is one of Bedrock.
func bedrockAt(at *url.URL) (bedrock, bool) {
	found := bedrockPath.FindStringSubmatch(at.EscapedPath())
	if found == nil {
		return bedrock{}, false
	}
	model, err := url.PathUnescape(found[1])
	return bedrock{model: model, stream: found[2] != "invoke"}, err == nil
}

func (b bedrock) read(body []byte, lenient bool) (asked, *refusal) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // messages.read says what is wrong
	wire, refused := b.messages.read(withModel(body, b.model, b.stream), lenient)
	delete(wire.request.Params.Extra, "anthropic_version")
	if len(wire.request.Params.Extra) == 0 {
		wire.request.Params.Extra = nil
	}
	if fields == nil || lenient {
		return wire, refused
	}
	var faults []string
	for _, name := range []string{"model", "stream"} {
		if fields[name] != nil {
			faults = append(faults, fmt.Sprintf("#: extraneous key [%s] is not permitted", name))
		}
	}
	switch version := fields["anthropic_version"]; {
	case version == nil:
		faults = append(faults, "#: required key [anthropic_version] not found")
	case string(version) != `"`+bedrockVersion+`"`:
		faults = append(faults, fmt.Sprintf("#/anthropic_version: %s is not a valid enum value", version))
	}
	if faults != nil {
		refused = invalid("", "Malformed input request: %s, please reformat your input and try again.", strings.Join(faults, ""))
	}
	return wire, refused
}

var _ headerChecker = bedrock{}

func (bedrock) checkHeader(h http.Header) *refusal {
	authorization := h.Get("Authorization")
	if strings.HasPrefix(authorization, "Bearer ") || strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 ") {
		return nil
	}
	return &refusal{status: http.StatusForbidden, code: "invalid_api_key", message: "Missing Authentication Token"}
}

// problem returns the body of an error. Amazon's errors have only a message; their name is in a header.
func (b bedrock) problem(r *refusal) any {
	return map[string]string{"message": b.messages.problem(r).(messagesError).Error.Message}
}

var _ framer = bedrock{}

func (bedrock) contentType() string { return "application/vnd.amazon.eventstream" }

// bedrockPadding is a field of a frame's payload with a text of random length, which hides the length of the event.
const bedrockPadding = "abcdefgh"

func (bedrock) frame(e event) []byte {
	if e.name == "error" {
		return Frame("exception", "modelStreamErrorException", e.data)
	}
	return Frame("event", "chunk", compact(struct {
		Bytes []byte `json:"bytes"`
		P     string `json:"p"`
	}{e.data, bedrockPadding}))
}

// Frame returns a frame of a stream in Amazon's encoding. `message` is its kind: "event", "exception" or "error". `kind` is the type of the
// event or exception, or the code of the error, whose payload is the message.
func Frame(message, kind string, payload []byte) []byte {
	m := eventstream.Message{Payload: payload}
	set := func(name, value string) { m.Headers.Set(name, eventstream.StringValue(value)) }
	set(map[string]string{"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[message], kind)
	set(":content-type", "application/json")
	set(":message-type", message)
	if message == "error" {
		set(":error-message", string(payload))
		m.Payload = nil
	}
	var out bytes.Buffer
	_ = eventstream.NewEncoder().Encode(&out, m) // fails only for headers that are too long
	return out.Bytes()
}

// finish returns the beginning of the last event but one, in Base64. Its 21 bytes are a multiple of three.
func (bedrock) finish() string {
	return base64.StdEncoding.EncodeToString([]byte(`{"delta":{"stop_reaso`))
}
