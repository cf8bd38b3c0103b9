package standin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/reagent-dev/reagent/internal/exact"
)

// Vertex is the Messages API as Google's Vertex AI has it. The model stands in the path, and the version in the body:
//   - The path is …/projects/PROJECT/locations/LOCATION/publishers/anthropic/models/MODEL with ":rawPredict" or ":streamRawPredict".
//   - The body has "anthropic_version":"vertex-2023-10-16", and no model.
//   - A request needs a bearer token.
//
// Sources: Anthropic's page "Claude on Vertex AI" and Google's page "Request predictions with Claude models". The wordings of the refusals
// have the form of Anthropic's others, because Vertex AI passes those on.
var Vertex API = vertex{}

type vertex struct {
	messages
	model string // the model in the path
}

const vertexVersion = "vertex-2023-10-16"

var vertexPath = regexp.MustCompile(`/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/([^/:]+):(?:rawPredict|streamRawPredict)$`)

// vertexAt returns the API at a URL, if it is one of Vertex AI.
func vertexAt(at *url.URL) (vertex, bool) {
	found := vertexPath.FindStringSubmatch(at.Path)
	if found == nil {
		return vertex{}, false
	}
	return vertex{model: found[1]}, true
}

func (v vertex) read(body []byte, lenient bool) (asked, *refusal) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // messages.read says what is wrong
	wire, refused := v.messages.read(withModel(body, v.model, string(fields["stream"]) == "true"), lenient)
	delete(wire.request.Params.Extra, "anthropic_version")
	if len(wire.request.Params.Extra) == 0 {
		wire.request.Params.Extra = nil
	}
	switch version := fields["anthropic_version"]; {
	case fields == nil || lenient:
	case fields["model"] != nil:
		refused = invalid("", "model: Extra inputs are not permitted")
	case version == nil:
		refused = invalid("", "anthropic_version: Field required")
	case string(version) != `"`+vertexVersion+`"`:
		refused = invalid("", "anthropic_version: Input should be '%s'", vertexVersion)
	}
	return wire, refused
}

// withModel returns the body with the fields that the path of a platform has.
func withModel(body []byte, model string, stream bool) []byte {
	all, err := exact.Members(body)
	if err != nil {
		return body
	}
	rest := all[:0]
	for _, m := range all {
		if m.Name != "model" && m.Name != "stream" {
			rest = append(rest, m)
		}
	}
	return exact.Object(append(rest, exact.Member{Name: "model", Value: compact(model)}, exact.Member{Name: "stream", Value: compact(stream)}))
}

var _ headerChecker = vertex{}

func (vertex) checkHeader(h http.Header) *refusal {
	if token, found := strings.CutPrefix(h.Get("Authorization"), "Bearer "); found && token != "" {
		return nil
	}
	return &refusal{status: http.StatusUnauthorized, code: "invalid_api_key", body: map[string]any{"error": map[string]any{
		"code": http.StatusUnauthorized, "status": "UNAUTHENTICATED",
		"message": "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	}}}
}

func (v vertex) problem(r *refusal) any {
	if r.body != nil {
		return r.body
	}
	return v.messages.problem(r)
}
