package anthropic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// Platform is where Claude runs. The requests and replies are those of the Messages API on each platform. What differs is their wrapping:
// the path, the headers, two fields of the body, and on Bedrock the encoding of the stream.
type Platform string

const (
	// Anthropic is Anthropic's own API, and every endpoint that is compatible with it.
	Anthropic Platform = ""
	// Vertex is Google Cloud's Vertex AI. [Options.BaseURL] ends in "/publishers/anthropic/models", and [Options.APIKey] is an access token.
	// Sources: Anthropic's page "Claude on Vertex AI", and Google's page "Request predictions with Claude models".
	Vertex Platform = "vertex"
	// Bedrock is Amazon Bedrock with its operations InvokeModel and InvokeModelWithResponseStream. [Options.APIKey] is a Bedrock API key. To
	// sign requests with AWS credentials instead, see package [github.com/reagent-dev/reagent/llm/anthropic/sigv4]. Sources: Anthropic's page
	// "Claude on Amazon Bedrock (legacy)", and Amazon's API reference of the two operations.
	Bedrock Platform = "bedrock"
)

// wrapping is what differs between the platforms.
type wrapping struct {
	// baseURL is the default of [Options.BaseURL]; if it is empty, `example` says what to set.
	baseURL, example string
	// provider is the platform's name in OpenTelemetry's conventions.
	provider string
	// paths are ends of URLs that the client adds itself.
	paths []string
	// path returns the path of a request below the base URL.
	path func(model string, stream bool) string
	// header has the headers of each request, beside the key's.
	header               map[string]string
	keyHeader, keyPrefix string
	// version is the value of the field `anthropic_version` of the body; empty for a body without the field.
	version string
	// unsent are the fields of the body that the platform refuses, because its path has what they say.
	unsent []string
	// events and denied are those of [endpoint.Request].
	events func(http.Header, *bufio.Reader) endpoint.Source
	denied int
}

var wrappings = map[Platform]wrapping{
	Anthropic: {
		baseURL: DefaultBaseURL, provider: "anthropic", paths: []string{"/messages"},
		path:      func(string, bool) string { return "/v1/messages" },
		header:    map[string]string{"Anthropic-Version": version},
		keyHeader: "X-Api-Key",
	},
	Vertex: {
		example:  "https://us-east5-aiplatform.googleapis.com/v1/projects/PROJECT/locations/us-east5/publishers/anthropic/models",
		provider: "gcp.vertex_ai", paths: []string{":rawPredict", ":streamRawPredict"},
		path: func(model string, stream bool) string {
			if stream {
				return "/" + url.PathEscape(model) + ":streamRawPredict"
			}
			return "/" + url.PathEscape(model) + ":rawPredict"
		},
		keyHeader: "Authorization", keyPrefix: "Bearer ",
		version: "vertex-2023-10-16",
		unsent:  []string{"model"},
	},
	Bedrock: {
		example:  "https://bedrock-runtime.us-east-1.amazonaws.com",
		provider: "aws.bedrock", paths: []string{"/invoke", "/invoke-with-response-stream"},
		path: func(model string, stream bool) string {
			// The ID may be the ARN of an inference profile, with a slash.
			if stream {
				return "/model/" + url.QueryEscape(model) + "/invoke-with-response-stream"
			}
			return "/model/" + url.QueryEscape(model) + "/invoke"
		},
		// Amazon reads in this header which form the model's reply has. Anthropic's library sends the same for streams.
		header:    map[string]string{"Accept": "application/json"},
		keyHeader: "Authorization", keyPrefix: "Bearer ",
		version: "bedrock-2023-05-31",
		unsent:  []string{"model", "stream"},
		events:  amazonEvents,
		denied:  http.StatusForbidden, // AWS answers 403 to expired keys
	},
}

// version is the version of the API that each request to [Anthropic] names.
const version = "2023-06-01"

// wrapping returns the wrapping of the platform, and the base URL of the requests. The error names the option that is not valid.
func (o Options) wrapping() (w wrapping, baseURL string, err error) {
	w, known := wrappings[o.Platform]
	baseURL = strings.TrimRight(o.BaseURL, "/")
	switch {
	case !known:
		names := slices.Sorted(maps.Keys(wrappings))
		return w, "", fmt.Errorf("model %q: Platform is %q; set one of %q", o.Name, o.Platform, names)
	case baseURL == "" && w.baseURL == "":
		return w, "", fmt.Errorf("model %q: BaseURL is empty; set the URL of the platform, such as %s", o.Name, w.example)
	case baseURL == "":
		return w, w.baseURL, nil
	case o.Platform == Anthropic:
		baseURL = strings.TrimSuffix(baseURL, "/v1")
	}
	return w, baseURL, nil
}

// request wraps the body of a request.
func (w wrapping) request(model string, body []byte, stream bool) (endpoint.Request, error) {
	body, err := w.body(body)
	return endpoint.Request{
		Path: w.path(model, stream), Body: body, Stream: stream, Header: w.header,
		KeyHeader: w.keyHeader, KeyPrefix: w.keyPrefix, Events: w.events, Denied: w.denied,
	}, err
}

// body returns the body as the platform takes it. A version in [llm.Params.Extra] counts more than that of the platform.
func (w wrapping) body(body []byte) ([]byte, error) {
	if w.version == "" {
		return body, nil
	}
	all, err := members(body)
	if err != nil { // nested too deeply
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m exact.Member) bool { return slices.Contains(w.unsent, m.Name) })
	encoded, err := json.Marshal(w.version)
	return exact.Object(withDefault(all, "anthropic_version", string(encoded))), err
}

// family returns the value of [llm.Opaque.Family] for the replies to a request. The platforms have the same one as Anthropic's API, because
// a signature of one platform is valid on the others, as Anthropic's page "Extended thinking" says. So a model on one platform can be the
// fallback of one on another without loss.
func (c *Client) family(model string, req llm.Request) string {
	if c.options.Platform == Anthropic {
		return familyOf(c.Host, model, req)
	}
	return familyOf("anthropic.com", "claude", req)
}

// claude reports whether a model is one of Claude's. On [Vertex] and [Bedrock], all are, also those with the ARN of a profile as their name.
func (c *Client) claude(model string) bool {
	return c.options.Platform != Anthropic || endpoint.Line(model) == "claude"
}
