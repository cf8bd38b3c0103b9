package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// apiError is an error in the form of OpenAI's API.
type apiError struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code,omitempty"`
}

func (e *apiError) Error() string { return e.Message }

// The types of errors.
const (
	typeInvalid     = "invalid_request_error"
	typeServer      = "server_error"
	typeRate        = "rate_limit_error"
	typeUnavailable = "service_unavailable_error"
)

// invalid is the error of a request that is wrong in the field `param`.
func invalid(param, message string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Message: message, Type: typeInvalid, Param: param, Code: "invalid_value"}
}

func unsupported(param, message string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Message: message, Type: typeInvalid, Param: param, Code: "unsupported_parameter"}
}

// missing is the answer for something that does not exist, and for what belongs to somebody else.
func missing(what, id string) *apiError {
	return &apiError{Status: http.StatusNotFound, Message: what + " " + quoted(id) + " does not exist, or you may not read it", Type: typeInvalid, Code: "not_found"}
}

func forbidden(message string) *apiError {
	return &apiError{Status: http.StatusForbidden, Message: message, Type: typeInvalid, Code: "insufficient_permissions"}
}

func conflict(code, message string) *apiError {
	return &apiError{Status: http.StatusConflict, Message: message, Type: typeInvalid, Code: code}
}

// quoted quotes a text of a client, cut to a size that fits into a message.
func quoted(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most] + "…"
	}
	data, _ := json.Marshal(text)
	return string(data)
}

// apiErrorOf returns an error of the client package as one of OpenAI's API.
func apiErrorOf(err error) *apiError {
	var e *apiError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, new(*http.MaxBytesError)):
		return &apiError{Status: http.StatusRequestEntityTooLarge, Message: "the request body is too large; send less, or images as addresses", Type: typeInvalid, Code: "request_too_large"}
	case errors.Is(err, client.ErrNotFound):
		return &apiError{Status: http.StatusNotFound, Message: "there is no such conversation", Type: typeInvalid, Code: "not_found"}
	case errors.Is(err, client.ErrNoWorker):
		return &apiError{Status: http.StatusServiceUnavailable, Message: "no worker answers for the agent; try again, or start a worker", Type: typeUnavailable, Code: "no_worker"}
	case errors.Is(err, client.ErrNoServer):
		return &apiError{Status: http.StatusServiceUnavailable, Message: "Temporal does not answer; try again", Type: typeUnavailable, Code: "no_server"}
	case errors.Is(err, agent.ErrQueueFull):
		return &apiError{Status: http.StatusTooManyRequests, Message: err.Error(), Type: typeRate, Code: "queue_full"}
	case errors.Is(err, client.ErrClosed), errors.Is(err, client.ErrRefused):
		return conflict("refused", err.Error())
	case errors.Is(err, client.ErrInvalid):
		return invalid("", err.Error())
	}
	return &apiError{Status: http.StatusInternalServerError, Message: err.Error(), Type: typeServer}
}

// writeError answers a request with an error.
func writeError(w http.ResponseWriter, err error) {
	e := apiErrorOf(err)
	if e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.Status, map[string]any{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the client is gone
}
