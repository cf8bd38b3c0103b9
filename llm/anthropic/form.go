package anthropic

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// form says how a request differs from the usual one, because the endpoint has refused parts of it. The zero value is the usual
// form. Any other form omits or replaces something that not all models and endpoints support.
type form struct {
	plain       bool // without streaming
	budgeted    bool // with a thinking budget instead of adaptive thinking
	thoughtless bool // without a field `thinking` that turns thinking on
	undisplayed bool // without the field `thinking.display`
	undisabled  bool // without `thinking` of type "disabled"
	effortless  bool // without the field `output_config.effort`
	lowered     bool // with the effort "high" instead of a higher one
	unformatted bool // without the field `output_config.format`; the answer comes by a tool: see [form.request]
	prompted    bool // without the tool for the answer; the schema is in the instructions
	untempered  bool // without the field `temperature`
	unsampled   bool // without the field `top_p`
	uncached    bool // without the marks for the prompt cache
	brief       bool // with marks for the usual time of the prompt cache, not for an hour
	silent      bool // with `thinking` of type "disabled" if the tool choice forces a call
	unforced    bool // with the tool choice "auto" instead of one that forces a call
	unserial    bool // without the field `tool_choice.disable_parallel_tool_use`
	declared    bool // with the tools that the conversation has called, if the request has no tools
	thoughtful  bool // with the thinking of all earlier replies, also unsigned: see [thoughts]
	thorough    bool // thoughtful, with thinking also in the messages without calls
	signed      bool // without thinking that has no signature
	limit       int  // the largest output limit of the model, in tokens; 0 if it is not known

	// The client does not remember these fields, because they depend on the conversation, not on the model.
	unsigned bool // without the raw blocks of earlier replies: see [block.raw]
	bare     bool // without a field `thinking` that turns thinking on
	mute     bool // with `thinking` of type "disabled", whatever the request asks for
	room     int  // the largest output limit for which the context window has room, in tokens; 0 if it is not known
}

// lesson is a refusal from which the client learns another form. [form.after] uses the first lesson whose expression matches the
// message of the error and which changes the body of the request.
type lesson struct {
	says *regexp.Regexp
	// learn changes the form. `found` is the text that `says` matches, followed by the texts of its groups.
	learn func(f *form, req llm.Request, found []string)
}

// Several lessons have one of these expressions: what is learned first may not be enough, or may not change the request.
var (
	// modified says that thinking in the request is not what the endpoint has signed.
	modified = regexp.MustCompile("(?i)signature|thinking.* blocks .*cannot be modified")
	// forgotten says that the request has too little thinking of earlier replies.
	forgotten = regexp.MustCompile(`(?i)\b(?:thinking|reasoning(?:_content)?)\b.{0,80}\b(?:passed back|is missing)\b|` +
		`\bmissing .?(?:thinking|reasoning(?:_content)?)\b.{0,80}\bassistant message`)
	// unbegun says that the present turn must begin with thinking. It comes from endpoints that verify signatures.
	unbegun = regexp.MustCompile("(?i)expected .?thinking.? or .?redacted_thinking")
)

// lessons are the refusals that the client knows. The comments quote their usual messages.
var lessons = []lesson{
	// max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5
	// The maximum tokens you requested exceeds the model limit of 64000.
	{regexp.MustCompile(`(?i)max_tokens\b.*?> ?([0-9]+), which is the maximum|maximum tokens.*model limit of ([0-9]+)|` +
		`max_tokens\b.*?(?:less than or equal to|at most|<=) ?([0-9]+)|range of max_tokens is \[[0-9]+, ?([0-9]+)\]`), learnLimit},
	// 'max_tokens' or 'max_completion_tokens' is too large: 64000 … (64000 > 32768 - 100).
	{regexp.MustCompile(`(?i)max_tokens.*is too large.*\([0-9]+ > ([0-9]+) - ([0-9]+)\)`), func(f *form, req llm.Request, found []string) {
		learnRoom(f, req, []string{"", found[2], found[1]})
	}},
	// input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens`
	{regexp.MustCompile(`(?i)exceed context limit: ([0-9]+) \+ [0-9]+ > ([0-9]+)`), learnRoom},
	// messages.1.content.0: Invalid `signature` in `thinking` block
	// messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.
	{modified, learnSigned},
	{modified, func(f *form, req llm.Request, _ []string) { learnSigned(f, req, nil); f.unsigned = true }},
	{modified, learnConflict},
	// The `content[].thinking` in the thinking mode must be passed back to the API.
	// thinking is enabled but reasoning_content is missing in assistant tool call message at index 2
	// Missing thinking block in the assistant message at message index 11.
	{forgotten, learnThoughtful},
	// preserved thinking (…) requires reasoning_content on every assistant message, but assistant message at index 1 is missing …
	{forgotten, func(f *form, req llm.Request, _ []string) { learnThoughtful(f, req, nil); f.thorough = true }},
	{forgotten, learnMute},
	// messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.
	{unbegun, func(f *form, _ llm.Request, _ []string) { f.bare = true }},
	{unbegun, learnMute},
	// "thinking.type.disabled" is not supported for this model. Use "thinking.type.enabled" and "output_config.effort" to control it.
	{regexp.MustCompile(`(?i)^[^.]*thinking\.type\.disabled.{0,20}not supported`), func(f *form, _ llm.Request, _ []string) { f.undisabled = true }},
	// "thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control it.
	{regexp.MustCompile(`(?i)^[^.]*thinking\.type\.enabled.{0,20}not supported`), learnThinking},
	// #/tool_choice: extraneous key [disable_parallel_tool_use] is not permitted
	{regexp.MustCompile(`(?i)disable_parallel_tool_use`), func(f *form, _ llm.Request, _ []string) { f.unserial = true }},
	// tool_choice: type "tool" and "any" are not supported for this model.
	{regexp.MustCompile(`(?i)tool_choice\b.*not supported`), func(f *form, req llm.Request, _ []string) { f.unforced = forces(req) }},
	// Thinking may not be enabled when tool_choice forces tool use.
	{regexp.MustCompile(`(?i)thinking.*tool_choice|tool_choice.*thinking`), learnForce},
	// `temperature` and `top_p` cannot both be specified for this model. Please use only one.
	{regexp.MustCompile(`(?i)\btop_p\b.*\bboth\b|\btop_p\b.*(?:deprecated|not supported)`), learnSampling},
	// `temperature` is deprecated for this model.
	// `temperature` may only be set to 1 when thinking is enabled.
	{regexp.MustCompile(`(?i)\btemperature\b`), func(f *form, _ llm.Request, _ []string) { f.untempered = true }},
	{regexp.MustCompile(`(?i)\btop_p\b`), learnSampling},
	// thinking.adaptive.display: Extra inputs are not permitted
	{regexp.MustCompile(`(?i)\bdisplay\b`), func(f *form, _ llm.Request, _ []string) { f.undisplayed = true }},
	// output_config.effort 'xhigh' is not supported when thinking is disabled on this model.
	// level "max" not supported, valid levels: low, medium, high
	// This model does not support the effort parameter.
	{regexp.MustCompile(`(?is)^.*(?:\befforts?\b|\blevel .*not supported).*$`), learnEffort},
	// adaptive thinking is not supported on this model
	{regexp.MustCompile(`(?i)\badaptive\b`), learnAdaptive},
	// output_config.format: Extra inputs are not permitted
	// output_config.format.schema: For 'object' type, 'additionalProperties: true' is not supported.
	{regexp.MustCompile(`(?i)output_(?:config\.)?format|output format|structured output|json_schema|\bschemas?\b`), learnFormat},
	// output_config: Extra inputs are not permitted
	{regexp.MustCompile(`(?i)output_config`), func(f *form, req llm.Request, _ []string) {
		learnFormat(f, req, nil)
		f.effortless = f.effortless || f.effort(req.Params) != ""
	}},
	// "thinking.type.enabled" is not supported for this model.
	// thinking: Extra inputs are not permitted
	{regexp.MustCompile(`(?i)\bthinking\b`), learnThinking},
	// Requests which include `tool_use` or `tool_result` blocks must define tools
	{regexp.MustCompile(`(?i)must (?:define|have|provide) .?tools|tools.?: (?:field|parameter) (?:is )?required`), func(f *form, req llm.Request, _ []string) {
		f.declared = len(req.Tools) == 0
	}},
	// cache_control.ttl: 1h is not supported
	// system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted
	{regexp.MustCompile(`(?i)\bttl\b`), func(f *form, _ llm.Request, _ []string) { f.brief = true }},
	// tools.0.custom.input_schema: JSON schema is invalid.
	// This model does not support tools.
	{regexp.MustCompile(`(?i)\btools?\b|\bschemas?\b`), func(f *form, req llm.Request, _ []string) { f.prompted = f.answerTool(req) != "" }},
	// system.0.cache_control: Extra inputs are not permitted
	{regexp.MustCompile(`(?i)cache_control|prompt caching`), func(f *form, _ llm.Request, _ []string) { f.uncached = true }},
	// streaming is not supported
	{regexp.MustCompile(`(?i)\bstream(?:ing|ed)?\b`), func(f *form, _ llm.Request, _ []string) { f.plain = true }},
}

// learnSigned learns that the endpoint accepts only thinking that it has signed.
func learnSigned(f *form, _ llm.Request, _ []string) {
	f.signed, f.thoughtful, f.thorough = true, false, false
}

// learnThoughtful learns that the endpoint demands the thinking of earlier replies.
func learnThoughtful(f *form, _ llm.Request, _ []string) { f.signed, f.thoughtful = false, true }

// learnMute learns that the thinking of earlier replies cannot be sent as the endpoint demands. It ignores a request without such replies.
func learnMute(f *form, req llm.Request, _ []string) {
	f.mute = slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.Assistant })
}

// learnConflict learns that the endpoint refuses the thinking that it has demanded. It ignores a request in which nothing was demanded.
func learnConflict(f *form, req llm.Request, _ []string) {
	if f.thoughtful {
		learnSigned(f, req, nil)
		learnMute(f, req, nil)
		f.unsigned = true
	}
}

// learnLimit learns the largest output limit of a model from the number in the message. It ignores a number that is not below the limit
// of the refused request.
func learnLimit(f *form, req llm.Request, found []string) {
	for _, group := range found[1:] {
		if n, err := strconv.Atoi(group); err == nil && n > 0 && n < f.maxTokens(req.Params) {
			f.limit = n
		}
	}
}

// minRoom is the smallest output limit that the client sets because the context window is nearly full, in tokens.
const minRoom = 4096

// learnRoom learns how many tokens of output fit into the context window. It does nothing in these cases:
//   - The request has its own output limit.
//   - Fewer than [minRoom] tokens fit.
//   - The limit of the refused request already fits.
func learnRoom(f *form, req llm.Request, found []string) {
	input, _ := strconv.Atoi(found[1])
	window, _ := strconv.Atoi(found[2])
	if room := window - input; req.Params.MaxOutputTokens == 0 && room >= minRoom && room < f.maxTokens(req.Params) {
		f.room = room
	}
}

// learnForce learns that the model accepts a request that forces a tool call only with thinking turned off. If thinking was off already,
// learnForce learns that the model does not accept such a request at all. It ignores a request that does not force a call.
func learnForce(f *form, req llm.Request, _ []string) {
	switch {
	case !forces(req):
	case !f.silent && req.Params.ReasoningEffort != none:
		f.silent = true
	default:
		f.unforced = true
	}
}

// learnSampling learns that the model does not accept the field `top_p`, if the request has it.
func learnSampling(f *form, req llm.Request, _ []string) { f.unsampled = req.Params.TopP != nil }

// learnEffort learns that the model does not accept the efforts above "high". If the refused effort was not above "high", learnEffort
// learns that the model accepts no effort at all, unless the message lists other efforts: then a person has to choose one of them. It
// ignores a request without an effort.
func learnEffort(f *form, req llm.Request, found []string) {
	switch effort := f.effort(req.Params); {
	case topEffort(effort):
		f.lowered = true
	case effort != "" && endpoint.Efforts(found[0]) == nil:
		f.effortless = true
	}
}

// learnAdaptive learns that the model needs a thinking budget. It ignores a request that does not ask for thinking.
func learnAdaptive(f *form, req llm.Request, _ []string) {
	f.budgeted = f.budgeted || req.Params.ReasoningEffort != "" && req.Params.ReasoningEffort != none
}

// learnFormat learns that the model does not accept the schema of the reply, if the request has one.
func learnFormat(f *form, req llm.Request, _ []string) {
	f.unformatted = len(req.Params.OutputSchema) > 0
}

// learnThinking learns which other form of the field `thinking` to send:
//   - For a request that turns thinking off, the field is omitted.
//   - For a request that asks for thinking, a thinking budget replaces adaptive thinking. If the budget was refused, too, the field is
//     omitted.
//   - A request without an effort teaches nothing.
func learnThinking(f *form, req llm.Request, _ []string) {
	switch effort := req.Params.ReasoningEffort; {
	case effort == none || f.silent && forces(req):
		f.undisabled = true
	case effort == "":
	case !f.budgeted:
		f.budgeted = true
	default:
		f.thoughtless = true
	}
}

// maxRefusal is the length of the part of an error message in which the client looks for a lesson, in bytes.
const maxRefusal = 4096

// after decides whether to send a request again in another form. `err` is the error of the request in the form `f`; nil if the request
// succeeded. `differs` must report whether a given form gives the request a body that has not been refused yet.
//
// If the error is one of the known refusals ([lessons]), after returns a form that avoids it, and true. In all other cases, it returns
// `f` and false.
func (f form) after(err error, req llm.Request, differs func(form) bool) (form, bool) {
	var told *llm.Error
	if !errors.As(err, &told) || told.Status == 0 {
		return f, false
	}
	if told.Class != llm.InvalidRequest && told.Class != llm.ContextTooLong && told.Status != http.StatusNotImplemented {
		return f, false
	}
	message := clip.Text(told.Message, maxRefusal)
	for _, l := range lessons {
		next := f
		if found := l.says.FindStringSubmatch(message); found != nil {
			l.learn(&next, req, found)
		}
		if next != f && differs(next) {
			return next, true
		}
	}
	return f, false
}

// subject says to what a form applies: a model, and the parts of a request that the model may refuse.
type subject struct {
	model, effort string
	schema        [sha256.Size]byte
}

// maxForms is the maximum number of forms that a client remembers. When it is reached, the client forgets all of them.
const maxForms = 1000

// forms remembers the forms that the models accept. The zero value is ready for use. It is safe for concurrent use.
type forms struct {
	mu     sync.Mutex
	known  map[subject]form
	limits map[string]int // the largest output limits, by model
}

func subjectOf(model string, req llm.Request) subject {
	return subject{model, req.Params.ReasoningEffort, sha256.Sum256(req.Params.OutputSchema)}
}

// of returns the form for the next request to a model: the form that [forms.keep] has stored for requests with the same [subject], or the
// usual form. The field `limit` is always the one that was learned for the model.
func (m *forms) of(model string, req llm.Request) form {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.known[subjectOf(model, req)]
	f.limit = m.limits[model]
	return f
}

// keep stores `f`, without the fields that depend on the conversation, as the form that a model accepts. It returns false if this form and
// its output limit are stored already. Call it after the model has replied to a request in this form.
func (m *forms) keep(model string, req llm.Request, f form) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxForms {
		m.known, m.limits = map[subject]form{}, map[string]int{}
	}
	limit, at := f.limit, subjectOf(model, req)
	f.unsigned, f.bare, f.mute, f.room, f.limit = false, false, false, 0, 0
	if m.known[at] == f && m.limits[model] == limit {
		return false
	}
	m.known[at] = f
	if limit > 0 {
		m.limits[model] = limit
	}
	return true
}
