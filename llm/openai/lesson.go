package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// lesson is a change of the [form] that the client makes if an endpoint refuses a request with a certain error message.
type lesson struct {
	// name says what the lesson changes, for the log.
	name string
	// words matches the error messages that lead to the change.
	words *regexp.Regexp
	// except matches the error messages among them that do not lead to the change. Nil means that all of them do.
	except *regexp.Regexp
	// learn and forget are the deviations that the lesson adds to the form and removes from it.
	learn, forget form
	// api is the API for which the lesson is: [ChatAPI] or [ResponsesAPI]. Empty means both.
	api string
	// applies reports whether the change can help the refused request. Nil means that it can help every request.
	applies func(req llm.Request, f form) bool
	// once says that the lesson is only about this request. The client does not remember it.
	once bool
	// advice is added to an error that the client returns, if `words` matches the error message. It names the option to set.
	advice string
}

// lessons has all lessons. The client learns the first one that fits an error. The client recognises an error by its message, because
// providers send no codes for these errors. The usual statuses are 400, 404, 422 and 501.
var lessons = []lesson{
	{
		name: "no stream_options", learn: noUsage, api: ChatAPI,
		words:   regexp.MustCompile(`(?i)\b(?:stream_options|streamOptions|include_usage)\b`),
		applies: func(_ llm.Request, f form) bool { return !f.has(noStream) },
	},
	{
		name: "the Responses API", learn: viaResponses, api: ChatAPI, // OpenAI: gpt-5.4 with tools, codex and pro models
		words:  regexp.MustCompile(`(?i)\bv1/responses\b|\bresponses (?:api|endpoint)\b`),
		advice: "set api to responses",
	},
	{
		name: "no encrypted reasoning", learn: noInclude | noReplay, api: ResponsesAPI, // models without reasoning, other endpoints
		words: regexp.MustCompile(`(?i)encrypted content is not supported|reasoning\.encrypted_content|\(include\)|'include|"include|\binclude: `),
	},
	{
		// The endpoint may be unable to decrypt the reasoning, for example because the API key belongs to another account now.
		name: "no reasoning of earlier replies", learn: noReplay, api: ResponsesAPI, once: true,
		words: regexp.MustCompile(`(?i)encrypted content .*could not be (?:verified|decrypted)|invalid_encrypted_content|` +
			`without its required (?:following|'reasoning') item|items are not persisted|` +
			`was not issued to this caller|unknown parameter: 'input\[`),
		applies: func(req llm.Request, _ form) bool { return slices.ContainsFunc(req.Messages, hasOpaque) },
	},
	{
		name: "max_completion_tokens for max_tokens", learn: newLimit | limitKnown, api: ChatAPI,
		words: regexp.MustCompile(`\bmax_completion_tokens\b`),
		applies: func(req llm.Request, f form) bool {
			return req.Params.MaxOutputTokens > 0 && !f.has(newLimit|limitKnown)
		},
	},
	{
		name: "max_tokens for max_completion_tokens", learn: limitKnown, forget: newLimit, api: ChatAPI,
		words: regexp.MustCompile(`(?i)\bmax_completion_tokens\b.{0,80}\b(?:unsupported|not supported|not permitted|unexpected|unknown|extra)\b|\b(?:unsupported|unknown|unrecognized|unexpected|extra)\b.{0,80}\bmax_completion_tokens\b`),
		applies: func(req llm.Request, f form) bool {
			return req.Params.MaxOutputTokens > 0 && f.has(newLimit) && !f.has(limitKnown)
		},
	},
	{
		name: "no temperature", learn: noTemperature,
		words:   regexp.MustCompile(`(?i)\btemperature\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.Temperature != nil },
	},
	{
		name: "no top_p", learn: noTopP,
		words:   regexp.MustCompile(`(?i)\btop_?p\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.TopP != nil },
	},
	{
		name: "no parallel_tool_calls", learn: noParallel,
		words:   regexp.MustCompile(`(?i)\bparallel[_ ]tool[_ ]calls?\b|\bparallelToolCalls\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.ParallelToolCalls != nil },
	},
	{
		name: "no forced call", learn: autoChoice, // Qwen, Kimi and DeepSeek while they think
		words: refusedChoice, applies: func(req llm.Request, f form) bool { return forcesCall(req, f) && !f.has(autoChoice|noChoice) },
	},
	{
		name: "no tool choice", learn: noChoice, words: refusedChoice, applies: hasChoice,
	},
	{
		name: "no prompt_cache_key", learn: noCacheKey, // models of others on Azure
		words: regexp.MustCompile(`(?i)\bprompt_?cache_?key\b`),
		applies: func(req llm.Request, f form) bool {
			return f.cacheKey(req) != "" && req.Params.Extra["prompt_cache_key"] == nil
		},
	},
	{
		// Only if the endpoint does not know the field. If the model does not have this effort, a person has to choose another one.
		name: "no effort", learn: noEffort,
		words: regexp.MustCompile(`(?i)\b(?:unknown|unrecognized|unexpected)\b.{0,60}\breasoning(?:[_.]?effort\b|['"` + "`" + `])|` +
			`\breasoning[_.]?effort\b.{0,40}\b(?:extra inputs|not permitted|cannot find field|unknown|unrecognized|unexpected)\b|property '?reasoning_effort\b`),
		except:  regexp.MustCompile(`(?i)unknown variant|expected one of`),
		applies: func(req llm.Request, f form) bool { return f.effort(req) != "" },
	},
	{
		name: "no seed", learn: noSeed, api: ChatAPI,
		words:   regexp.MustCompile(`(?i)\bseed\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.Seed != nil },
	},
	{
		name: "all reasoning", learn: allReasoning, forget: noReasoning, api: ChatAPI, // DeepSeek, Kimi
		words:   regexp.MustCompile(`(?i)\breasoning(?:_content|_details)?\b.{0,80}\b(?:passed back|is missing|missing|required)\b`),
		applies: func(req llm.Request, f form) bool { return !f.has(noReasoning) && hasCalls(req, f) },
		advice:  "set reasoning.send to always and reasoning.field to the field that the provider names",
	},
	{
		name: "no reasoning", learn: noReasoning, forget: allReasoning, api: ChatAPI,
		words:   regexp.MustCompile(`(?i)\breasoning_content\b|\breasoning\b.{0,80}\b(?:unsupported|not permitted|unknown|unrecognized|unexpected|extra)\b|\b(?:unsupported|unknown|unrecognized|unexpected|extra)\b.{0,80}\breasoning\b`),
		applies: sendsReasoning,
		advice:  "set reasoning.send to never",
	},
	{
		name: "no data of the provider", learn: noOpaque, api: ChatAPI,
		words:   regexp.MustCompile(`\b(?:extra_content|reasoning_details|thinking_blocks|provider_specific_fields)\b`),
		applies: func(req llm.Request, _ form) bool { return slices.ContainsFunc(req.Messages, hasOpaque) },
	},
	{
		name: "no signature of another endpoint", learn: noOpaque | noSignature, once: true, api: ChatAPI, // Gemini
		words:   regexp.MustCompile(`(?i)\bcorrupted thought[_ ]?signature|\bthought[_ ]?signature is (?:not valid|invalid)`),
		applies: hasCalls,
	},
	{
		name: "calls without a signature", learn: noSignature, api: ChatAPI, // Gemini
		words:   regexp.MustCompile(`(?i)\bthought[_ ]?signature\b`),
		applies: hasCalls,
	},
	{
		name: "IDs of nine characters", learn: nineIDs, api: ChatAPI, // Mistral
		words:   regexp.MustCompile(`(?i)\bcall id\b.{0,200}\blength of 9\b`),
		applies: hasCalls,
	},
	{
		name: "IDs of at most 40 characters", learn: shortIDs, api: ChatAPI, // OpenAI
		words:   regexp.MustCompile(`(?i)\b(?:tool_calls(?:\[\d+\]|\.\d+)\.id|tool_call_id|call_id)\b.{0,40}\bstring too long\b`),
		applies: hasCalls,
	},
	{
		name: "empty content for null", learn: textContent, api: ChatAPI, // Cloudflare and others
		words:   regexp.MustCompile(`(?i)\bcontent\b.{0,120}\b(?:null|none|nonetype|string)\b|\bnull\b.{0,120}\bcontent\b`),
		applies: func(req llm.Request, _ form) bool { return slices.ContainsFunc(req.Messages, lacksContent) },
	},
	{
		name: "a message between a tool's result and the user", learn: bridged, api: ChatAPI, // Mistral, chat templates
		words:   regexp.MustCompile(`(?i)\brole ['"]?user['"]? after role ['"]?tool\b`),
		applies: func(req llm.Request, _ form) bool { return follows(req.Messages, llm.Tool) },
	},
	{
		name: "messages that alternate", learn: bridged | joined, api: ChatAPI, // chat templates
		words: regexp.MustCompile(`(?i)\broles must alternate\b`),
		applies: func(req llm.Request, _ form) bool {
			return follows(req.Messages, llm.Tool) || follows(req.Messages, llm.User)
		},
	},
	{
		name: "the role developer for instructions", learn: developerRole, api: ChatAPI,
		words: regexp.MustCompile(`(?i)\bsystem\b.{0,200}\bdeveloper\b`),
		applies: func(req llm.Request, f form) bool {
			return hasInstructions(req, f) && !f.has(developerRole)
		},
	},
	{
		name: "instructions in the first user message", learn: userRole, forget: developerRole, api: ChatAPI, // Gemma, o1-mini
		words:   regexp.MustCompile(`(?i)\b(?:system|developer)\b.{0,80}\b(?:role|message|messages|instruction|prompt)\b|\brole\b.{0,80}\b(?:system|developer)\b|\bmessages(?:\[0\]|\.0)\.role\b`),
		applies: hasInstructions,
	},
	{
		name: "no schema for a tool without parameters", learn: noEmptySchema, api: ChatAPI, // Gemini
		words:   regexp.MustCompile(`(?i)\bproperties\b.{0,80}\b(?:non-?empty|empty)\b`),
		applies: func(req llm.Request, _ form) bool { return len(req.Tools) > 0 },
	},
	{
		name: "a strict schema of the output", learn: strictSchema, api: ChatAPI,
		words:   regexp.MustCompile(`(?i)\bstrict\b`),
		applies: func(req llm.Request, _ form) bool { return len(req.Params.OutputSchema) > 0 },
	},
	{
		name: "no output format beside tools", learn: noFormat, forget: jsonObject, // Groq, Cerebras, Gemini
		words:   regexp.MustCompile(`(?i)\bjson mode\b.{0,80}\btools?\b|\btools?\b.{0,80}\bresponse_format\b|\bresponse_format\b.{0,80}\btools?\b|(?:function calling|tool use) with a response mime type`),
		applies: func(req llm.Request, _ form) bool { return len(req.Params.OutputSchema) > 0 && len(req.Tools) > 0 },
	},
	{
		name: "a JSON object for a schema of the output", learn: jsonObject, // DeepSeek
		words:   outputFormat,
		applies: func(req llm.Request, f form) bool { return len(req.Params.OutputSchema) > 0 && !f.has(formats) },
	},
	{
		name: "no output format", learn: noFormat, forget: jsonObject,
		words:   outputFormat,
		applies: func(req llm.Request, f form) bool { return len(req.Params.OutputSchema) > 0 && f.has(jsonObject) },
	},
	{
		// Without the field, the model's own limit holds, which is lower.
		name: "no output limit above that of the model", learn: noLimit,
		words: regexp.MustCompile(`(?i)\bmax_(?:completion_|output_)?tokens\b.{0,80}\b(?:supports at most|above maximum|less than or equal to|valid range|should be \[)|` +
			`\bvalid range of max_tokens\b|\brange of max_tokens\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.MaxOutputTokens > 0 },
	},
	{
		name: "no output limit", learn: noLimit, api: ResponsesAPI, // ChatGPT's backend
		words:   regexp.MustCompile(`(?i)\b(?:unsupported|unknown|unrecognized|unexpected)\b.{0,40}\bmax_output_tokens\b|\bmax_output_tokens\b.{0,40}\b(?:unsupported|not supported|not permitted)\b`),
		applies: func(req llm.Request, _ form) bool { return req.Params.MaxOutputTokens > 0 },
	},
	{
		name: "streaming", forget: noStream, // Qwen, ChatGPT's backend
		words: regexp.MustCompile(`(?i)\bonly supports? stream|\bstream\b.{0,20}\bmust be (?:set to )?true|\bfalse for non-streaming calls|when .?stream=false`),
	},
	{ // the last one, because many messages mention streams
		name: "no streaming", learn: noStream,
		words: regexp.MustCompile(`(?i)\bstream(?:ing|ed)?\b`),
	},
}

// refusedChoice matches messages that refuse a tool choice. A message about a tool that the request does not have is not among them.
var refusedChoice = regexp.MustCompile(`(?i)\binvalid tool_choice type\b|` +
	`\btool[_ ]?choice\b.{0,80}\b(?:not support(?:ed)?|unsupported|incompatible|only supports?|thinking|reasoning|not permitted|cannot find field)\b|` +
	`\b(?:not support|unsupported|unknown (?:name|field|parameter)|unrecognized (?:request )?argument|support the provided|thinking|reasoning)\b.{0,80}` +
	`\btool[_ ]?choice\b`)

// outputFormat matches messages about the output format, or about a schema of the output that the endpoint cannot compile.
var outputFormat = regexp.MustCompile(`(?i)response_format|text\.format|\bjson_schema\b|\bjson_object\b|\bjson schema\b|\bjson mode\b|structured output|guided|grammar`)

// learn looks for a lesson that fits the error of a request in the form `f`. If there is one, learn returns the form for the next
// request, the lesson, and true. If the error has another reason, or if no lesson would change the form, learn returns false. `auto`
// says that the client may change the API.
func (f form) learn(req llm.Request, auto bool, err error) (next form, what lesson, ok bool) {
	told, refused := refusal(err)
	if !refused {
		return f, lesson{}, false
	}
	api := ChatAPI
	if f.has(viaResponses) {
		api = ResponsesAPI
	}
	for _, l := range lessons {
		next := f&^l.forget | l.learn
		switch {
		case next == f, l.api != "" && l.api != api, l.learn == viaResponses && (!auto || told.Status < http.StatusBadRequest):
		case l.fits(told.Message) && (l.applies == nil || l.applies(req, f)):
			return next, l, true
		}
	}
	return f, lesson{}, false
}

// fits reports whether an error message leads to the change of the lesson.
func (l lesson) fits(message string) bool {
	return l.words.MatchString(message) && (l.except == nil || !l.except.MatchString(message))
}

// refusal returns the [*llm.Error] in `err`, and reports whether the error may mean that the endpoint refuses the form of the request.
func refusal(err error) (*llm.Error, bool) {
	var told *llm.Error
	if !errors.As(err, &told) {
		return nil, false
	}
	switch told.Class {
	case llm.InvalidRequest, llm.NotFound:
		return told, true
	}
	return told, told.Status == http.StatusNotImplemented
}

// advise adds a [lesson.advice] to the message of an error that may mean that the endpoint refuses the form of the request. It returns
// the error.
func advise(err error) error {
	if told, refused := refusal(err); refused {
		for _, l := range lessons {
			if l.advice != "" && l.words.MatchString(told.Message) {
				told.Message += "; if the provider demands it, " + l.advice + " for this model"
				break
			}
		}
	}
	return err
}

func hasCalls(req llm.Request, _ form) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return len(m.ToolCalls) > 0 })
}

func hasOpaque(m llm.Message) bool {
	return m.Opaque != llm.Opaque{} || slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Opaque != llm.Opaque{} })
}

func sendsReasoning(req llm.Request, _ form) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Reasoning != "" })
}

// lacksContent reports whether a message is sent with the content null.
func lacksContent(m llm.Message) bool {
	return len(m.ToolCalls) > 0 && m.Content == "" && len(m.Parts) == 0
}

// follows reports whether a user message directly follows a message with the given role.
func follows(messages []llm.Message, role llm.Role) bool {
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == llm.User && messages[i-1].Role == role {
			return true
		}
	}
	return false
}

// hasInstructions reports whether the instructions of a request have a message of their own.
func hasInstructions(req llm.Request, f form) bool {
	return !f.has(userRole) && slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.System })
}
