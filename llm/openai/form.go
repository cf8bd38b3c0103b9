package openai

import (
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// form says how a request is written. Endpoints that have the same API accept different requests. A form is a set of deviations from
// the usual request. The zero form is the usual request.
type form uint64

const (
	noUsage       form = 1 << iota // without the field stream_options, in which the request asks for the usage
	noStream                       // without streaming
	newLimit                       // the output limit is in the field max_completion_tokens, not in max_tokens
	limitKnown                     // the endpoint has said which of the two fields it accepts
	noTemperature                  // without the field temperature
	noTopP                         // without the field top_p
	noSeed                         // without the field seed
	noParallel                     // without the field parallel_tool_calls
	textContent                    // a message with calls and without text has the content "", not null
	developerRole                  // the instructions have the role developer
	userRole                       // the instructions are a part of the first user message
	bridged                        // the message [bridge] stands between a tool message and a user message
	noEmptySchema                  // a tool without parameters has no field parameters
	strictSchema                   // the schema of the output is strict
	shortIDs                       // IDs of calls have at most 40 characters
	nineIDs                        // IDs of calls have nine letters or digits
	joined                         // messages of the user in a row are one message
	allReasoning                   // all messages with calls have their reasoning
	noReasoning                    // no message has its reasoning
	noOpaque                       // without data of the provider
	noSignature                    // calls of another provider have [withoutSignature]
	viaResponses                   // the request goes to the Responses API
	noInclude                      // the Responses API does not return encrypted reasoning
	noReplay                       // the Responses API does not get the items of earlier replies back
	jsonObject                     // the output format is json_object, and the schema of the output is in the instructions
	noFormat                       // without an output format; the schema of the output is in the instructions
	noLimit                        // without an output limit
	noCacheKey                     // without the field prompt_cache_key
	autoChoice                     // the tool choice is "auto" instead of one that forces a call
	noChoice                       // without the field tool_choice
	noEffort                       // without the effort
)

// formats are the deviations that depend on the schema of the output, and not only on the model.
const formats = jsonObject | noFormat

func (f form) has(deviation form) bool { return f&deviation != 0 }

// fields returns the fields for the body of a request in the form `f`. These are the fields in `base`, less those that the endpoint
// refuses, and the fields for streaming. fields does not modify `base`.
func (f form) fields(base map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(base)
	for name, refused := range map[string]form{"temperature": noTemperature, "top_p": noTopP, "seed": noSeed, "parallel_tool_calls": noParallel} {
		if f.has(refused) {
			delete(all, name)
		}
	}
	if f.has(noStream) {
		all["stream"] = json.RawMessage("false")
		return all
	}
	all["stream"] = json.RawMessage("true")
	if !f.has(noUsage) {
		all["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return all
}

// effort returns the reasoning effort of a request in the form `f`; empty if it is not sent.
func (f form) effort(req llm.Request) string {
	if f.has(noEffort) {
		return ""
	}
	return req.Params.ReasoningEffort
}

// cacheKey returns the value of the field prompt_cache_key for a request in the form `f`; empty if it is not sent. OpenAI sends requests
// with the same key and the same beginning to the same machine, whose cache has this beginning. The maximum length is 64 characters
// (OpenAI's documentation, "Prompt caching", and the errors of its API). Other providers may refuse the field: see [usual].
func (f form) cacheKey(req llm.Request) string {
	if f.has(noCacheKey) {
		return ""
	}
	return req.PromptCacheKey
}

// forms remembers the form that each model accepts. The zero value is ready for use. It is safe for concurrent use.
type forms struct {
	mu    sync.Mutex
	known map[string]form
	// formats has the [formats] for each model and schema.
	formats map[subject]form
}

// subject is a model with the schema of an output and whether the request has tools: some endpoints take only one of both.
type subject struct {
	model  string
	schema [sha256.Size]byte
	tools  bool
}

func subjectOf(model string, req llm.Request) subject {
	return subject{model, sha256.Sum256(req.Params.OutputSchema), len(req.Tools) > 0}
}

// maxFormats is the largest number of schemas that the client remembers. When it is reached, the client forgets all of them.
const maxFormats = 1000

// of returns the form for the next request to a model: the one that [forms.keep] has stored, or `first`.
func (m *forms) of(model string, first form, req llm.Request) form {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[model]; ok {
		first = known
	}
	return first | m.formats[subjectOf(model, req)]
}

// keep stores the form that a model accepts, and logs what the client has learned. Call it after the model has replied to a request
// in this form.
func (m *forms) keep(model string, f form, req llm.Request, learned []string, log *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]form{}
	}
	if m.formats == nil || len(m.formats) >= maxFormats {
		m.formats = map[subject]form{}
	}
	at := subjectOf(model, req)
	if m.known[model] == f&^formats && m.formats[at] == f&formats {
		return // another request has learned the same
	}
	m.known[model] = f &^ formats
	if f.has(formats) {
		m.formats[at] = f & formats
	}
	log.Info("the endpoint of a model accepts only another form of requests; later requests have it", "model", model, "form", learned)
}
