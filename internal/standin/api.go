package standin

import (
	"net/url"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// API is an API that an [Endpoint] can serve, such as [Chat].
type API interface {
	// Sent returns what remains of a request that is sent through the API and read by the provider. For example, an API may have no
	// field for the parameter `seed`. Sent does not modify `req`.
	Sent(req llm.Request) llm.Request
	// Received returns what remains of a reply that is sent through the API and read by a client. Received does not modify `reply`.
	Received(reply llm.Reply) llm.Reply

	// read decodes and checks the body of a request. If the provider would refuse the request, read returns a refusal, and the
	// request has only what could be decoded. If `lenient` is set, read refuses only a body that cannot be decoded.
	read(body []byte, lenient bool) (asked, *refusal)
	// body returns the JSON body of a response with the given reply. `model` is the model's name in the body if the reply does not
	// name its model.
	body(model string, reply llm.Reply) any
	// events returns the events of a stream with the given reply. `cut` divides the texts into parts. `usage` says whether the
	// request asked for the usage. There are at least three events. Every client must notice if the last three are missing.
	events(model string, reply llm.Reply, usage bool, cut cutter) []event
	// finish returns a text that shows the end of a reply in a stream: after the event with the last occurrence of this text, a
	// client may treat the stream as complete.
	finish() string
	// problem returns the JSON body of an error response in the form of the API.
	problem(r *refusal) any
}

// asked is what a request asks for, in the types of package llm.
type asked struct {
	request llm.Request
	model   string
	// `stream` says whether the request asks for a stream, and `usage` whether the stream must contain the usage.
	stream, usage bool
}

type event struct {
	name string // the field "event"; empty means that the event has no such field
	data []byte
}

// bytes returns the event in the form of an event stream. `end` is the line end.
func (e event) bytes(end string) string {
	line := "data: " + string(e.data) + end + end
	if e.name != "" {
		line = "event: " + e.name + end + line
	}
	return line
}

// Chat is OpenAI's chat completions API.
var Chat API = chat{}

// apis maps the end of a URL's path to the API that an [Endpoint] serves at such paths.
var apis = map[string]API{
	"/chat/completions": Chat,
	"/responses":        Responses,
	"/messages":         Messages,
}

// apiAt returns the API at a URL; nil if there is none.
func apiAt(at *url.URL) API {
	for suffix, a := range apis {
		if strings.HasSuffix(at.Path, suffix) {
			return a
		}
	}
	if a, ok := vertexAt(at); ok {
		return a
	}
	if a, ok := bedrockAt(at); ok {
		return a
	}
	return nil
}

// framer is an API whose streams are not server-sent events.
type framer interface {
	// frame returns an event as it stands in a stream, and contentType the Content-Type of the stream.
	frame(e event) []byte
	contentType() string
}

// ContentType returns the Content-Type of the streams of an API.
func ContentType(a API) string {
	if f, ok := a.(framer); ok {
		return f.contentType()
	}
	return "text/event-stream"
}
