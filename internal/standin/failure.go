package standin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// refusal is an error response of an [Endpoint].
type refusal struct {
	status     int
	message    string
	kind       string        // the type of the error; empty means the usual type of the API
	param      string        // the path of the invalid field in the request; may be empty
	code       string        // the code of the error; may be empty
	retryAfter time.Duration // 0 means no Retry-After header
	body       any           // the JSON body; nil means that the API makes it from the other fields
}

type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// invalid returns an error response with status 400 for an invalid request. `param` is the path of the invalid field, or "".
// `format` and `args` make the message.
func invalid(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// usual has an error response for most classes of errors: the response that OpenAI usually sends for the class.
var usual = map[llm.Class]refusal{
	llm.RateLimited:    {status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded"},
	llm.Overloaded:     {status: http.StatusServiceUnavailable, kind: "server_error"},
	llm.ServerError:    {status: http.StatusInternalServerError, kind: "server_error"},
	llm.ContextTooLong: {status: http.StatusBadRequest, code: "context_length_exceeded"},
	llm.InvalidRequest: {status: http.StatusBadRequest},
	llm.Unauthorized:   {status: http.StatusUnauthorized, code: "invalid_api_key"},
	llm.QuotaExceeded:  {status: http.StatusTooManyRequests, kind: "insufficient_quota", code: "insufficient_quota"},
	llm.NotFound:       {status: http.StatusNotFound, code: "model_not_found"},
	llm.Filtered:       {status: http.StatusBadRequest, code: "content_filter"},
	llm.TooLarge:       {status: http.StatusRequestEntityTooLarge, code: "request_too_large"},
}

// emptyReply converts an error of class [llm.EmptyReply] into an empty reply, and returns the reply and true. An [Endpoint]
// sends this reply instead of an error. For any other error, emptyReply returns false.
func emptyReply(err error) (llm.Reply, bool) {
	var told *llm.Error
	if !errors.As(err, &told) || told.Class != llm.EmptyReply {
		return llm.Reply{}, false
	}
	return llm.Reply{Model: told.Model, FinishReason: told.FinishReason, Usage: told.Usage}, true
}

// fail sends the response for an error of [Endpoint.Client]. The comment of [Endpoint] says which response an error gets.
func fail(w http.ResponseWriter, a API, err error) {
	var told *llm.Error
	if !errors.As(err, &told) {
		refuse(w, a, &refusal{status: http.StatusInternalServerError, kind: "server_error", message: err.Error()})
		return
	}
	switch told.Class {
	case llm.Connection:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	case llm.BadReply:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, told.Message)
		return
	}
	r := usual[told.Class]
	r.status = cmp.Or(told.Status, r.status, http.StatusInternalServerError)
	r.message, r.retryAfter = told.Message, told.RetryAfter
	refuse(w, a, &r)
}

// refuse sends the error response `r` in the format of the API `a`.
func refuse(w http.ResponseWriter, a API, r *refusal) {
	if wait := r.retryAfter; wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		if wait%time.Second != 0 {
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
		}
	}
	writeJSON(w, r.status, a.problem(r))
}

// orNull returns a pointer to `s`; nil if `s` is empty. In JSON, nil becomes null, as OpenAI sends it.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
