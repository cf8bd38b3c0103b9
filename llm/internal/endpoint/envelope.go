package endpoint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Some endpoints report errors with a success status. This file finds such errors in the fields of the body.

// envelopeStatus is the status in the responses of the provider MiniMax. In a successful response, its code is 0.
type envelopeStatus = Optional[struct {
	Code    Text `json:"status_code"`
	Message Text `json:"status_msg"`
}]

// succeeded reports whether a code is absent or says that a request succeeded.
func succeeded(code Text) bool {
	return slices.Contains([]string{"", "0", "200", "ok", "success"}, strings.ToLower(string(code)))
}

// envelope has the fields by which some protocols say that a request failed: the status of MiniMax, a code beside a message
// (Zhipu and gateways), and "success": false.
type envelope struct {
	Base    envelopeStatus  `json:"base_resp"`
	Code    Text            `json:"code"`
	Msg     Text            `json:"msg"`
	Success json.RawMessage `json:"success"`
}

// failed reports whether the envelope says that the request failed. `hasMessage` and `hasChoices` say whether the body has the fields
// `message` and `choices`. The field `base_resp` always counts. The fields `code` and `success` count only in a body with `message` or
// `msg` and without choices, because a reply may have such fields, too.
func (e envelope) failed(hasMessage, hasChoices bool) bool {
	switch {
	case !succeeded(e.Base.Value.Code):
		return true
	case hasChoices || !hasMessage && e.Msg == "":
		return false
	}
	return !succeeded(e.Code) || string(bytes.TrimSpace(e.Success)) == "false"
}
