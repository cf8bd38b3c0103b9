// Package callback accepts the results of external calls by HTTP. A notification to a hook has the URL for the result of each call that
// waits: see [github.com/reagent-dev/reagent/activities.Callbacks]. The far side sends the result to this URL.
package callback

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/jsonwords"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/token"
)

const (
	// DefaultWait is the default of [Options.Wait].
	DefaultWait = 10 * time.Second
	// By is the name of who has given a result by this package: see [agent.Decision].
	By = "callback"

	// maxBodyBytes limits a JSON body. In JSON, a byte of the result may take six bytes.
	maxBodyBytes = 6*agent.MaxGivenBytes + 1024
	// maxFromBytes is the size, in bytes, to which the address of the sender is cut. The agent takes no more.
	maxFromBytes = 200
	// maxFieldBytes is the size, in bytes, to which the name of a field is cut that the sender has chosen.
	maxFieldBytes = 100
	// maxRequests limits the results that are given at the same time, because each may read a history. Further requests wait, at most
	// for [Options.Wait].
	maxRequests = 16
	// retryAfter is the value of the header Retry-After, in seconds.
	retryAfter = "2"
)

// Options are the options of [New]. The zero Options are not valid: Secret is required.
type Options struct {
	// Secret and OldSecrets are the same as those of the workers: see [github.com/reagent-dev/reagent/activities.Callbacks]. Secret is
	// required.
	Secret     string
	OldSecrets []string
	// Wait limits the time for which a request waits, for other requests and for a worker. Defaults to [DefaultWait].
	Wait time.Duration
	// Log receives an entry for each result and for each failure of the server. No entry has a token. Defaults to [slog.Default].
	Log *slog.Logger
}

// New returns a handler that gives external calls their results. It reaches the agents of all task queues of the client's namespace. It
// keeps no state, so any number of processes may serve it, and it is safe for concurrent use.
//
// The last segment of a request's path is the token. Mount the handler at the URL of the workers' [activities.Callbacks]:
//
//	mux.Handle("/callbacks/{token}", handler)
//
// A request is a POST with a body of one of these types, in UTF-8. A result has at most [agent.MaxGivenBytes] bytes:
//   - application/json: {"result": "…", "is_error": false}. The field is_error may be missing. Names of
//     fields are exact: "Result" is an unknown field.
//   - text/plain: the result, which is no error. It is not empty.
//
// The body of the response is a JSON object. For an error, it has the field "error", which says what to do. If a part of the request is
// wrong, the field "field" names it. The status is one of these:
//   - 200: the call has this result, from this request or from an earlier one.
//   - 400, 405, 413, 415: the request is wrong. Nothing has happened.
//   - 401: the token is not valid.
//   - 404: there is no such agent or call any more.
//   - 409: the call has another result, or its agent has completed without one. It never takes this result.
//   - 503, with Retry-After: no worker or server answers, too many results arrive at the same time, or the call takes no result at the
//     moment, for example because its agent was terminated and a person may resume it. Send the request again.
//   - 500: any other failure. The call may have the result. Send the request again.
//
// The result is recorded with "callback" as the person, and with the address of the sender as the machine: behind a proxy, that of the
// proxy. New returns an error if a secret is too short, or if it begins with "whsec_" and the rest is not base64.
func New(agents *client.Client, o Options) (http.Handler, error) {
	signer, err := token.NewSigner(o.Secret, o.OldSecrets...)
	if err != nil {
		return nil, fmt.Errorf("callback: %w", err)
	}
	return newHandler(agents.GiveResult, signer, o), nil
}

type give func(ctx context.Context, id string, call agent.Key, result string, o client.CompleteOptions) error

type handler struct {
	give   give
	signer *token.Signer
	wait   time.Duration
	log    *slog.Logger
	// places has an element for each result that is being given: see [maxRequests].
	places chan struct{}
}

func newHandler(give give, signer *token.Signer, o Options) *handler {
	return &handler{give, signer, cmp.Or(o.Wait, DefaultWait), slog.New(logs.Handler(cmp.Or(o.Log, slog.Default()).Handler())), make(chan struct{}, maxRequests)}
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	status, body := http.StatusOK, any(map[string]bool{"accepted": true})
	if problem := h.handle(w, r); problem != nil {
		status, body = problem.status, problem
		switch status {
		case http.StatusServiceUnavailable:
			head.Set("Retry-After", retryAfter)
		case http.StatusMethodNotAllowed:
			head.Set("Allow", http.MethodPost)
		}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the sender may have gone
}

type problem struct {
	status int
	// Field names the wrong part of the request. It is empty if the request is not wrong.
	Field string `json:"field,omitempty"`
	// Error says what happened and what to do.
	Error string `json:"error"`
}

func (h *handler) handle(w http.ResponseWriter, r *http.Request) *problem {
	if r.Method != http.MethodPost {
		return &problem{http.StatusMethodNotAllowed, "method", "the method is " + clip.Text(r.Method, 20) + "; send a POST request"}
	}
	call, ok := h.signer.Verify(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	if !ok {
		return &problem{http.StatusUnauthorized, "token", "the token at the end of the URL is not valid; use the URL in the field callback of the notification, as it is"}
	}
	result, isError, wrong := read(w, r)
	if wrong != nil {
		return wrong
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.wait)
	defer cancel()
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	case <-ctx.Done():
		return &problem{http.StatusServiceUnavailable, "", "too many results arrive at the same time; send the request again"}
	}
	err := h.give(ctx, call.AgentID, call.Key, result, client.CompleteOptions{IsError: isError, By: By, From: origin(r)})
	failed := failure(err)
	switch {
	case failed == nil:
		h.log.Info("An external call has its result from a callback.", logs.Agent, call.AgentID, logs.Key, call.Key)
	case failed.status >= http.StatusInternalServerError && r.Context().Err() == nil:
		h.log.Warn("The result of an external call could not be given.", logs.Agent, call.AgentID, logs.Key, call.Key, "error", err)
	}
	return failed
}

func failure(err error) *problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrSettled):
		return &problem{http.StatusConflict, "", err.Error()}
	case errors.Is(err, client.ErrNotFound):
		return &problem{http.StatusNotFound, "", "the agent of this call does not exist any more; nobody waits for the result"}
	case errors.As(err, new(*client.NoCallError)):
		return &problem{http.StatusNotFound, "", "the agent has no such call any more; nobody waits for the result"}
	case errors.Is(err, client.ErrRefused):
		return &problem{http.StatusBadRequest, "result", err.Error()}
	case errors.Is(err, client.ErrNotReady):
		return &problem{http.StatusServiceUnavailable, "", err.Error() + "; send the request again"}
	case errors.Is(err, client.ErrNoWorker), errors.Is(err, client.ErrNoServer):
		return &problem{http.StatusServiceUnavailable, "", "no worker answers for the agent; send the request again"}
	}
	return &problem{http.StatusInternalServerError, "", "the result could not be given; send the request again, and if that fails, too, see the log of the server"}
}

func origin(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return clip.Text(host, maxFromBytes)
}

func read(w http.ResponseWriter, r *http.Request) (result string, isError bool, wrong *problem) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(parameters["charset"])
	limit := int64(maxBodyBytes)
	switch {
	case err == nil && kind == "text/plain":
		limit = agent.MaxGivenBytes
	case err != nil || kind != "application/json":
		return "", false, &problem{http.StatusUnsupportedMediaType, "Content-Type", `the type of the body must be application/json, with {"result": "…", "is_error": false}, or text/plain`}
	}
	if charset != "" && charset != "utf-8" && charset != "us-ascii" {
		return "", false, &problem{http.StatusUnsupportedMediaType, "Content-Type", "the charset must be utf-8"}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return "", false, &problem{http.StatusUnsupportedMediaType, "Content-Encoding", "the body must not be compressed"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return "", false, tooLarge()
	case err != nil:
		return "", false, &problem{http.StatusBadRequest, "body", "the body did not arrive as a whole; send the request again"}
	case !utf8.Valid(body):
		return "", false, &problem{http.StatusBadRequest, "body", "the body is not UTF-8; encode it in UTF-8"}
	case kind == "application/json":
		return decode(body)
	case len(body) == 0:
		return "", false, &problem{http.StatusBadRequest, "body", `the body is empty; for an empty result, send {"result": ""} as application/json`}
	}
	return string(body), false, nil
}

func decode(body []byte) (result string, isError bool, wrong *problem) {
	const form = `send {"result": "…", "is_error": false}`
	refuse := func(field, text string) (string, bool, *problem) {
		return "", false, &problem{http.StatusBadRequest, clip.Text(field, maxFieldBytes), text + "; " + form}
	}
	members, err := exact.Members(body)
	if err != nil {
		return refuse("body", "the body cannot be read: "+jsonwords.Problem(err))
	}
	fields := map[string]json.RawMessage{}
	for _, m := range members {
		name := m.Name
		if name != "result" && name != "is_error" {
			return refuse("body", fmt.Sprintf("the body has the unknown field %q", clip.Text(name, maxFieldBytes)))
		}
		fields[name] = m.Value
	}
	if again := exact.Twice(members); again != "" {
		return refuse(again, "the field "+again+" is given twice")
	}
	var given *string
	if text := fields["result"]; text != nil && json.Unmarshal(text, &given) != nil {
		return refuse("result", "the field result must be a string; write any other JSON value as a text into the string")
	}
	if text := fields["is_error"]; text != nil && json.Unmarshal(text, &isError) != nil {
		return refuse("is_error", "the field is_error must be true or false")
	}
	switch {
	case given == nil:
		return refuse("result", "the field result is missing")
	case len(*given) > agent.MaxGivenBytes:
		return "", false, tooLarge()
	}
	return *given, isError, nil
}

func tooLarge() *problem {
	return &problem{http.StatusRequestEntityTooLarge, "result", fmt.Sprintf("the result has more than %d bytes; send a shorter text, or the address of the whole result", agent.MaxGivenBytes)}
}
