package endpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Response is a response of an endpoint, or one event of a streamed response.
type Response struct {
	Status int
	Header http.Header
	Body   []byte    // the body of the response or the data of the event
	At     time.Time // when the response began
	// Failed says that the response is an error even if the status is a success, for example an event with the name "error".
	Failed bool
}

// problem is the error in a response. Providers send errors in many formats.
type problem struct {
	// status is the HTTP status in the error object; 0 if there is none.
	status int
	// words are the codes and types in the error object, such as "rate_limit_exceeded".
	words   []string
	message string
	// wait is the wait time in the fields of the error object; 0 if there is none. The message for people may have another
	// wait time.
	wait time.Duration
	// generation is the text of the model that the endpoint could not read as a tool call. Only Groq sends this text.
	generation string
}

func (a Response) html() bool {
	return bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<")) ||
		strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
}

// problem returns the error in the response; nil if there is none. There is an error if the response has an error status, if
// [Response.Failed] is true, or if the body contains an error.
func (a Response) problem() *problem {
	body := bytes.TrimSpace(a.Body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0] // Gemini wraps the object in a list
	}
	var whole struct {
		Error   json.RawMessage `json:"error"`
		Object  Text            `json:"object"`
		Detail  json.RawMessage `json:"detail"`
		Message json.RawMessage `json:"message"`
		Choices json.RawMessage `json:"choices"`
		envelope
	}
	isObject := json.Unmarshal(body, &whole) == nil
	failed := a.Failed || a.Status >= http.StatusMultipleChoices
	var choices []struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(whole.Choices, &choices)
	switch {
	case isObject && Present(whole.Error):
		p := readProblem(whole.Error)
		if len(p.words) == 0 && p.status == 0 {
			p.add(whole.Code) // xAI sends the code beside the error
		}
		return p
	case len(choices) > 0 && Present(choices[0].Error):
		return readProblem(choices[0].Error)
	case isObject && (string(whole.Object) == "error" || whole.failed(Present(whole.Message), Present(whole.Choices))):
		return readProblem(body)
	case !failed:
		return nil
	case isObject && Present(whole.Detail):
		return &problem{message: details(whole.Detail)}
	case isObject && Present(whole.Message):
		return readProblem(body)
	case a.html():
		return &problem{message: title(a.Body)}
	}
	return &problem{message: string(body)}
}

// Present reports whether a field has a value other than null, false, "", {} or []. It returns false for an absent field.
// Successful responses may have a field with the name "error" and one of these values.
func Present(field json.RawMessage) bool {
	switch string(bytes.TrimSpace(field)) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// readProblem decodes the error object in a response. Some endpoints send another JSON value instead of an object, such as a string.
// In this case, the value is the message.
func readProblem(encoded json.RawMessage) *problem {
	var object struct {
		Message  json.RawMessage     `json:"message"`
		Msg      Text                `json:"msg"`
		Base     envelopeStatus      `json:"base_resp"`
		Type     Text                `json:"type"`
		Code     Text                `json:"code"`
		Status   Text                `json:"status"`
		Inner    struct{ Code Text } `json:"innererror"`
		Metadata struct{ Raw Text }  `json:"metadata"`
		Param    Text                `json:"param"`

		RetryAfter       Text        `json:"retry_after"`
		Details          []retryInfo `json:"details"`
		FailedGeneration Text        `json:"failed_generation"`
	}
	if err := json.Unmarshal(encoded, &object); err != nil && object.Message == nil {
		return &problem{message: details(encoded)}
	}
	said := cmp.Or(details(object.Message), string(object.Msg), string(object.Base.Value.Message))
	p := &problem{message: said, generation: string(object.FailedGeneration)}
	p.wait = waitInDetails(string(object.RetryAfter), object.Details)
	for _, word := range []Text{object.Code, object.Type, object.Status, object.Inner.Code} {
		p.add(word)
	}
	if !succeeded(object.Base.Value.Code) {
		p.add("base_resp " + object.Base.Value.Code)
	}
	if raw := string(object.Metadata.Raw); raw != "" {
		p.message = strings.TrimSpace(p.message + ": " + raw)
	}
	p.message = cmp.Or(p.message, strings.Join(p.words, ", "))
	// Sometimes only param says which part of the request was refused.
	if param := string(object.Param); p.message != "" && param != "" && !strings.Contains(p.message, param) {
		p.message += " (" + param + ")"
	}
	return p
}

// add adds a code or a type of the error to the problem. If `word` is a number from 400 to 599, it is an HTTP status. The
// problem keeps the first such status.
func (p *problem) add(word Text) {
	if n, err := strconv.Atoi(string(word)); err == nil && n >= 400 && n < 600 {
		p.status = cmp.Or(p.status, n)
	} else if word != "" {
		p.words = append(p.words, string(word))
	}
}

// details returns an error message as a text. In JSON, the message is a string, a list of strings, or a list of objects.
// FastAPI sends such objects, with the fields `loc` and `msg`.
func details(encoded json.RawMessage) string {
	if len(encoded) == 0 {
		return ""
	}
	var list []json.RawMessage
	if json.Unmarshal(encoded, &list) != nil {
		var s Text
		_ = s.UnmarshalJSON(encoded)
		return string(s)
	}
	var said []string
	for _, item := range list {
		var object struct {
			Loc []Text `json:"loc"`
			Msg Text   `json:"msg"`
		}
		if json.Unmarshal(item, &object) != nil || object.Msg == "" {
			said = append(said, details(item))
			continue
		}
		var place []string
		for _, step := range object.Loc {
			place = append(place, string(step))
		}
		said = append(said, strings.Join(place, ".")+": "+string(object.Msg))
	}
	return strings.Join(said, ", ")
}

// title returns a description of a web page. The description has only the title of the page, because the rest of the page
// would not help a reader of the error.
func title(page []byte) string {
	lower := bytes.ToLower(page)
	from := bytes.Index(lower, []byte("<title>"))
	to := bytes.Index(lower, []byte("</title>"))
	if from < 0 || to < from || len(lower) != len(page) {
		return "a web page"
	}
	return "a web page titled " + strconv.Quote(strings.TrimSpace(html.UnescapeString(string(page[from+len("<title>"):to]))))
}

// Some providers have HTTP statuses of their own.
const (
	statusCapacity   = 498 // Groq: no capacity for now
	statusCancelled  = 499 // Gemini: the service cancelled the request
	statusOverloaded = 529 // Anthropic
)

// denied has the HTTP statuses which say that the endpoint does not allow the request or does not know the URL or the model. A shorter
// conversation does not help in these cases, even if the message mentions a context window, for example that of another plan.
var denied = []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound}

// class returns the class of the problem. It uses the first of these that determines a class:
//   - the codes and the message of the problem: see [classOfText]. With a [denied] status, they never mean [llm.ContextTooLong].
//   - `status`, the HTTP status of the response, or if that is a success, the status in the error object
//   - the type of the problem: see [classOfType]. With a 5xx, the type only distinguishes an overload from other errors.
//
// The HTTP status does not come first, because it can be misleading. A 200 may have an error, a 429 may be permanent, and a 500 may mean
// that the conversation is too long.
func (p *problem) class(status int) llm.Class {
	if class := classOfText(p.words, p.message); class != "" && (class != llm.ContextTooLong || !slices.Contains(denied, status)) {
		return class
	}
	if status < http.StatusMultipleChoices {
		status = p.status
	}
	switch status {
	case 0:
		return cmp.Or(classOfType(p.words), llm.BadReply)
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.Unauthorized
	case http.StatusPaymentRequired:
		return llm.QuotaExceeded
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return llm.NotFound
	case http.StatusRequestEntityTooLarge:
		return llm.ContextTooLong
	case http.StatusTooManyRequests:
		return llm.RateLimited
	case http.StatusServiceUnavailable, statusOverloaded, statusCapacity:
		return llm.Overloaded
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusFailedDependency, statusCancelled:
		return llm.ServerError
	}
	switch {
	case status < http.StatusBadRequest:
		return llm.NotFound // a redirect
	case status < http.StatusInternalServerError:
		return llm.InvalidRequest
	case classOfType(p.words) == llm.Overloaded:
		return llm.Overloaded // some providers may report an overload only in the type of the error
	}
	return llm.ServerError
}
