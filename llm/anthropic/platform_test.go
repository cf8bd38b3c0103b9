package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/internal/standin/conformance"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const vertexURL = "http://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models"

func onVertex(o *anthropic.Options) { o.Platform, o.BaseURL = anthropic.Vertex, vertexURL }

func onBedrock(o *anthropic.Options) {
	o.Platform, o.BaseURL = anthropic.Bedrock, "http://bedrock-runtime.us-east-1.amazonaws.com"
}

// onPlatforms runs a test for each platform but Anthropic's own.
func onPlatforms(t *testing.T, test func(t *testing.T, on func(*anthropic.Options))) {
	for name, on := range map[string]func(*anthropic.Options){"Vertex": onVertex, "Bedrock": onBedrock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

func TestClientOnVertex(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Vertex, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, onVertex) })
}

func TestClientOnBedrock(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Bedrock, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, onBedrock) })
}

func TestClientOnBedrockThatDoesNotStream(t *testing.T) {
	t.Parallel()
	conformance.Exercise(t, standin.Bedrock, func(t testing.TB, server http.Handler) llm.Client { return serve(t, server, onBedrock, noStream) })
}

// seen keeps the last request.
type seen struct {
	path   string
	header http.Header
	body   map[string]json.RawMessage
}

func (s *seen) before(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		encoded, _ := io.ReadAll(r.Body)
		s.path, s.header, s.body = r.URL.EscapedPath(), r.Header.Clone(), nil
		_ = json.Unmarshal(encoded, &s.body)
		r.Body = io.NopCloser(strings.NewReader(string(encoded)))
		next.ServeHTTP(w, r)
	}
}

// What differs between the platforms is the path, the headers and three fields of the body, and nothing else.
func TestPlatformWrapsTheRequest(t *testing.T) {
	t.Parallel()
	const model = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1:0"
	var plain map[string]json.RawMessage
	for _, test := range []struct {
		name          string
		edit          func(*anthropic.Options)
		model         string
		whole, stream string // paths
		version       string
	}{
		{"Anthropic", func(*anthropic.Options) {}, "claude-opus-4-6", "/v1/messages", "/v1/messages", ""},
		{"Vertex", onVertex, "claude-sonnet-4@20250514",
			"/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict",
			"/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514:streamRawPredict", `"vertex-2023-10-16"`},
		{"Bedrock", onBedrock, model,
			"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-opus-4-6-v1%3A0/invoke",
			"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream", `"bedrock-2023-05-31"`},
	} {
		for _, whole := range []bool{false, true} {
			var got seen
			client := serve(t, got.before(&standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."))}), test.edit, func(o *anthropic.Options) { o.NoStream = whole })
			req := ask()
			req.Candidates[0].Model = test.model
			_, err := client.Complete(t.Context(), req)
			require.NoError(t, err, test.name)
			if plain == nil {
				plain = got.body
			}
			want := test.stream
			if whole {
				want = test.whole
			}
			require.Equal(t, want, got.path)
			require.Equal(t, test.version, string(got.body["anthropic_version"]))
			for name := range plain {
				if name != "model" && name != "stream" {
					require.JSONEq(t, string(plain[name]), string(got.body[name]), name)
				}
			}
			if test.version == "" {
				require.Equal(t, "sk-very-secret", got.header.Get("X-Api-Key"))
				require.Equal(t, "2023-06-01", got.header.Get("Anthropic-Version"))
				continue
			}
			require.NotContains(t, got.body, "model")
			require.Equal(t, test.name == "Vertex" && !whole, got.body["stream"] != nil)
			require.Equal(t, "Bearer sk-very-secret", got.header.Get("Authorization"))
			require.NotContains(t, got.header, "X-Api-Key")
			require.NotContains(t, got.header, "Anthropic-Version")
			if test.name == "Bedrock" {
				require.Equal(t, "application/json", got.header.Get("Accept"))
			}
		}
	}
}

// A signature of one platform is valid on the others, so thinking goes from one to the next, and back.
func TestThinkingGoesFromPlatformToPlatform(t *testing.T) {
	t.Parallel()
	thoughtful := llmtest.Call(llmtest.ToolCall("toolu_1", "look", "{}"))
	thoughtful.Message.Reasoning = "I should look."
	edits := []func(*anthropic.Options){func(*anthropic.Options) {}, onVertex, onBedrock}
	for _, from := range edits {
		for _, to := range edits {
			req := ask(llm.Message{Role: llm.User, Content: "Look."})
			req.Tools = []llm.ToolSpec{{Name: "look"}}
			req.Candidates[0].Model = "claude-opus-4-6"
			reply, err := serve(t, &standin.Endpoint{Client: llmtest.Script(thoughtful)}, from).Complete(t.Context(), req)
			require.NoError(t, err)
			var got seen
			req.Messages = append(req.Messages, reply.Message, llm.Message{Role: llm.Tool, ToolCallID: "toolu_1", Content: "Sunny."})
			_, err = serve(t, got.before(&standin.Endpoint{Client: llmtest.Script(thoughtful, llmtest.Say("Sunny."))}), to).Complete(t.Context(), req)
			require.NoError(t, err)
			require.Contains(t, string(got.body["messages"]), `"signature":"sig/`)
		}
	}
}

func TestPlatformsRefuseWhatTheyDocument(t *testing.T) {
	t.Parallel()
	onPlatforms(t, func(t *testing.T, on func(*anthropic.Options)) {
		client := serve(t, &standin.Endpoint{Client: llmtest.Script()}, on, func(o *anthropic.Options) { o.APIKey = "" })
		_, err := client.Complete(t.Context(), ask())
		require.ErrorIs(t, err, &llm.Error{Class: llm.Unauthorized})

		// The API of Anthropic is not at these paths.
		client = serve(t, &standin.Endpoint{Client: llmtest.Script()}, on, func(o *anthropic.Options) { o.BaseURL += "/elsewhere" })
		_, err = client.Complete(t.Context(), ask())
		require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})

		client = serve(t, &standin.Endpoint{Client: llmtest.Script()}, on)
		req := ask()
		req.Params.Extra = map[string]json.RawMessage{"anthropic_version": json.RawMessage(`"2023-06-01"`)}
		_, err = client.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.ErrorContains(t, err, "anthropic_version")
		require.NotContains(t, err.Error(), "sk-very-secret")
	})
}

// Settings that a platform refuses are learned as on Anthropic's own API.
func TestPlatformTeachesForms(t *testing.T) {
	t.Parallel()
	onPlatforms(t, func(t *testing.T, on func(*anthropic.Options)) {
		far := &standin.Endpoint{Client: llmtest.Script(llmtest.Say(`{}`))}
		asked := 0
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"message":"output_config.format: Extra inputs are not permitted"}`)
				return
			}
			far.ServeHTTP(w, r)
		}), on)
		req := ask()
		req.Params.OutputSchema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, 2, asked)
		require.NotContains(t, string(far.Requests()[0].Body), "output_config")
	})
}

// AWS answers 403 to a key that has expired, and 401 means the same everywhere.
func TestExpiredKeyIsReplaced(t *testing.T) {
	t.Parallel()
	for status, edits := range map[int][]func(*anthropic.Options){
		http.StatusUnauthorized: {func(*anthropic.Options) {}, onVertex, onBedrock},
		http.StatusForbidden:    {onBedrock},
	} {
		for _, on := range edits {
			far := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."))}
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "key-two-123456") {
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"Message":"Bearer Token has expired"}`)
					return
				}
				far.ServeHTTP(w, r)
			}), on, func(o *anthropic.Options) {
				o.Credential = keys("key-one-123456", "key-two-123456")
			})
			_, err := client.Complete(t.Context(), ask())
			require.NoError(t, err)
		}
	}
}

func TestPlatformNeedsItsURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options anthropic.Options
		says    string
	}{
		{anthropic.Options{Platform: anthropic.Vertex}, "BaseURL is empty; set the URL of the platform, such as https://us-east5-aiplatform"},
		{anthropic.Options{Platform: anthropic.Bedrock}, "BaseURL is empty; set the URL of the platform, such as https://bedrock-runtime."},
		{anthropic.Options{Platform: "azure"}, `Platform is "azure"; set one of ["" "bedrock" "vertex"]`},
		{anthropic.Options{Platform: anthropic.Vertex, BaseURL: vertexURL + "/claude:rawPredict"}, "remove it from BaseURL"},
		{anthropic.Options{Platform: anthropic.Bedrock, BaseURL: "https://a.example/model/claude/invoke"}, "remove it from BaseURL"},
	} {
		_, err := anthropic.New(test.options)
		require.ErrorContains(t, err, test.says)
	}
}
