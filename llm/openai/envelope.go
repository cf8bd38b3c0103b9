package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// This file recognises bodies that are JSON objects without choices, although the status is a success: errors in the envelope
// of another protocol, and replies in the form of another API.

// envelopeStatus is the status in the responses of the provider MiniMax. In a successful response, its code is 0.
type envelopeStatus struct {
	Code    text
	Message text
}

// UnmarshalJSON accepts any JSON value. If the value is not an object, the status is empty.
func (s *envelopeStatus) UnmarshalJSON(encoded []byte) error {
	var wire struct {
		Code    text `json:"status_code"`
		Message text `json:"status_msg"`
	}
	if json.Unmarshal(encoded, &wire) == nil {
		*s = envelopeStatus{wire.Code, wire.Message}
	}
	return nil
}

// failed reports whether the status is an error.
func (s envelopeStatus) failed() bool { return !succeeded(s.Code) }

// succeeded reports whether a code is absent or says that a request succeeded.
func succeeded(code text) bool {
	return slices.Contains([]string{"", "0", "200", "ok", "success"}, strings.ToLower(string(code)))
}

// envelope has the fields by which some protocols say that a request failed: the status of MiniMax, a code beside a message
// (Zhipu and gateways), and "success": false.
type envelope struct {
	Base    envelopeStatus  `json:"base_resp"`
	Code    text            `json:"code"`
	Msg     text            `json:"msg"`
	Success json.RawMessage `json:"success"`
}

// failed reports whether the envelope says that the request failed. `hasMessage` says whether the body has the field `message`, and
// `hasChoices` whether it has choices. In a body with choices, or with neither of the fields `message` and `msg`, only the field
// `base_resp` counts.
func (e envelope) failed(hasMessage, hasChoices bool) bool {
	switch {
	case e.Base.failed():
		return true
	case hasChoices || !hasMessage && e.Msg == "":
		return false
	}
	return !succeeded(e.Code) || string(bytes.TrimSpace(e.Success)) == "false"
}

// foreign returns an [*llm.Error] if the answer has the format of another API, for example of Anthropic's Messages API. Such
// an answer means that the URL of the endpoint is wrong, so a retry does not help. Call foreign for an answer that has a
// success status, but no error and no choices.
func (a answer) foreign() error {
	var shape struct {
		Object     text            `json:"object"`
		Type       text            `json:"type"`
		Candidates json.RawMessage `json:"candidates"`
		Done       json.RawMessage `json:"done"`
		Message    json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(a.body, &shape) // what is not an object has none of the fields
	var api string
	switch {
	case shape.Object == "response" || strings.HasPrefix(string(shape.Type), "response."):
		api = "OpenAI's Responses API"
	case shape.Type == "message" || shape.Type == "message_start":
		api = "Anthropic's Messages API"
	case present(shape.Candidates):
		api = "Gemini's generateContent API"
	case len(shape.Done) > 0 && present(shape.Message):
		api = "Ollama's chat API"
	default:
		return nil
	}
	return &llm.Error{Class: llm.NotFound, Status: a.status,
		Message: fmt.Sprintf("the endpoint replied in the form of %s, not with a chat completion", api)}
}
