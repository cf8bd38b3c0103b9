package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/token"
)

const secret = "a-secret-of-at-least-24-bytes"

var call = token.Call{AgentID: "order-7", Key: "tool-b0e86962c8de663a172d0fc86f1b3609"}

// stage is a handler whose far side answers with `err`, and remembers what it was given.
type stage struct {
	*handler

	t     *testing.T
	err   error
	given []string
	log   bytes.Buffer
}

func newStage(t *testing.T) *stage {
	signer, err := token.NewSigner(secret)
	require.NoError(t, err)
	s := &stage{t: t}
	s.handler = newHandler(func(_ context.Context, id string, key agent.Key, result string, o client.CompleteOptions) error {
		s.given = append(s.given, fmt.Sprint(id, " ", key, " ", len(result), " ", result[:min(len(result), 20)], " ", o.IsError, " ", o.By, " ", o.From))
		return s.err
	}, signer, Options{Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	return s
}

func (s *stage) send(method, token, kind string, body io.Reader) (*http.Response, map[string]any) {
	s.t.Helper()
	r := httptest.NewRequest(method, "/callbacks/"+token, body)
	r.RemoteAddr = "192.0.2.7:1234"
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	mux := http.NewServeMux()
	mux.Handle("/callbacks/{token}", s)
	mux.ServeHTTP(w, r)
	var said map[string]any
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &said), w.Body.String())
	require.Equal(s.t, "application/json", w.Header().Get("Content-Type"))
	require.NotContains(s.t, w.Body.String(), token)
	require.NotContains(s.t, s.log.String(), token)
	return w.Result(), said
}

const object = "application/json"

func TestResultIsGiven(t *testing.T) {
	s := newStage(t)
	own := s.signer.Sign(call)
	for body, kind := range map[string]string{
		`{"result": "deployed"}`:                                 object,
		`{"is_error": true, "result": ""}` + "\n":                "Application/JSON; charset=UTF-8",
		"plain <text>":                                           "text/plain",
		`{"result": "result", "is_error": null}`:                 object,
		strings.Repeat("x", agent.MaxGivenBytes):                 "text/plain; charset=utf-8",
		`{"result":"` + strings.Repeat(`\u00e9`, 150_000) + `"}`: object,
	} {
		response, said := s.send(http.MethodPost, own, kind, strings.NewReader(body))
		require.Equal(t, http.StatusOK, response.StatusCode, said)
		require.Equal(t, map[string]any{"accepted": true}, said)
	}
	const who = "order-7 tool-b0e86962c8de663a172d0fc86f1b3609 "
	require.ElementsMatch(t, []string{
		who + "6 result false callback 192.0.2.7", who + "8 deployed false callback 192.0.2.7", who + "0  true callback 192.0.2.7", who + "12 plain <text> false callback 192.0.2.7",
		who + "300000 xxxxxxxxxxxxxxxxxxxx false callback 192.0.2.7", who + "300000 éééééééééé false callback 192.0.2.7",
	}, s.given)
}

// A wrong request changes nothing. The answer names what is wrong and what to do.
func TestWrongRequestIsRefused(t *testing.T) {
	s := newStage(t)
	own := s.signer.Sign(call)
	for _, c := range []struct {
		method, token, kind, body string
		status                    int
		field, problem            string
	}{
		{"GET", own, object, `{}`, 405, "method", "send a POST request"},
		{"PUT", own, object, `{"result":"x"}`, 405, "method", "the method is PUT"},
		{"DELETE", "wrong", object, "", 405, "method", "send a POST request"},
		{"POST", own[1:], object, `{"result":"x"}`, 401, "token", "is not valid; use the URL"},
		{"POST", own[:len(own)-1], "text/html", "not even read", 401, "token", "is not valid; use the URL"},
		{"POST", strings.ToUpper(own), object, `{"result":"x"}`, 401, "token", "is not valid; use the URL"},
		{"POST", own, "", `{"result":"x"}`, 415, "Content-Type", "must be application/json"},
		{"POST", own, "application/x-www-form-urlencoded", `{"result":"x"}`, 415, "Content-Type", "must be application/json"},
		{"POST", own, "application/json; charset=latin1", `{"result":"x"}`, 415, "Content-Type", "must be utf-8"},
		{"POST", own, "text/plain", strings.Repeat("x", agent.MaxGivenBytes+1), 413, "result", "more than 300000 bytes"},
		{"POST", own, object, `{"result":"` + strings.Repeat("x", agent.MaxGivenBytes+1) + `"}`, 413, "result", "more than 300000 bytes"},
		{"POST", own, object, strings.Repeat(" ", maxBodyBytes+1), 413, "result", "more than 300000 bytes"},
		{"POST", own, "text/plain", "", 400, "body", "the body is empty"},
		{"POST", own, "text/plain", "\xff", 400, "body", "not UTF-8"},
		{"POST", own, object, "{\"result\":\"\xff\"}", 400, "body", "not UTF-8"},
		{"POST", own, object, "", 400, "body", "cannot be read: unexpected end of JSON input; send {"},
		{"POST", own, object, `deployed`, 400, "body", "invalid character 'd'"},
		{"POST", own, object, `{"result":"x"} {}`, 400, "body", "after top-level value"},
		{"POST", own, object, `{"result":"x","error":true}`, 400, "body", `unknown field "error"`},
		{"POST", own, object, `{"is_error":true}`, 400, "result", "the field result is missing"},
		{"POST", own, object, `{"result":null}`, 400, "result", "the field result is missing"},
		{"POST", own, object, `{"result":{"n":1}}`, 400, "result", "must be a string"},
		{"POST", own, object, `{"result":"x","is_error":"no"}`, 400, "is_error", "must be true or false"},
		{"POST", own, object, `{"result":"x","result":"y"}`, 400, "result", "the field result is given twice"},
		{"POST", own, object, `{"result":"x","is_error":true,"is_error":false}`, 400, "is_error", "the field is_error is given twice"},
		{"POST", own, object, `["x"]`, 400, "body", "the value must be an object, not a list"},
		{"POST", own, object, `"x"`, 400, "body", "the value must be an object, not a string"},
		{"POST", own, object, `null`, 400, "result", "the field result is missing"},
	} {
		response, said := s.send(c.method, c.token, c.kind, strings.NewReader(c.body))
		require.Equal(t, c.status, response.StatusCode, "%v: %v", c, said)
		require.Equal(t, c.field, said["field"], said)
		require.Contains(t, said["error"], c.problem)
		if c.status == http.StatusMethodNotAllowed {
			require.Equal(t, "POST", response.Header.Get("Allow"))
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/callbacks/"+own, strings.NewReader("x"))
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Content-Encoding", "gzip")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	require.Equal(t, http.StatusUnsupportedMediaType, w.Code)
	require.Empty(t, s.given)
}

// A field is read under its exact name alone. Package json also takes other letters for those of a field, so a sender that checks the
// names itself could be made to confirm one result and give another.
func TestAttackNamesOfFieldsAreReadExactly(t *testing.T) {
	s := newStage(t)
	own := s.signer.Sign(call)
	for _, body := range []string{
		`{"result":"x","Result":"y"}`, `{"Result":"y"}`, `{"RESULT":"y","result":"x"}`,
		`{"result":"x","reſult":"y"}`, `{"result":"x","re\u017fult":"y"}`, `{"reſult":"y"}`,
		`{"result":"x","iſ_error":true}`, `{"result":"x","Is_error":true,"is_error":false}`,
		`{"result":"x","result":"y"}`, `{"result":"x","\u0072esult":"y"}`, `{"result":{"result":1},"result":"y"}`,
		`{"result":"x","":"y"}`, `{"result":"x","result\u0000":"y"}`,
	} {
		response, said := s.send(http.MethodPost, own, object, strings.NewReader(body))
		require.Equal(t, http.StatusBadRequest, response.StatusCode, body)
		require.Regexp(t, "unknown field|given twice", said["error"], body)
	}
	require.Empty(t, s.given)
}

// No answer names a type of Go: the sender does not know it.
func TestAnswerNamesNoTypeOfGo(t *testing.T) {
	s := newStage(t)
	own := s.signer.Sign(call)
	for _, value := range []string{`1`, `"x"`, `[]`, `{}`, `true`, `null`, `1e999`, `[{"result":1}]`, ``, `{`, `nul`} {
		for _, body := range []string{value, `{"result":` + value + `}`, `{"result":"x","is_error":` + value + `}`, `{"result":"x","more":` + value + `}`} {
			if response, said := s.send(http.MethodPost, own, object, strings.NewReader(body)); response.StatusCode != http.StatusOK {
				require.NotRegexp(t, `json: |Go (struct|value)|struct \{|\*string|of type|map\[`, said["error"], body)
			}
		}
	}
}

// The answer says whether the far side has to send the result again.
func TestAnswerSaysWhatHasBecomeOfTheResult(t *testing.T) {
	s := newStage(t)
	own := s.signer.Sign(call)
	for status, errs := range map[int][]error{
		200: {nil},
		400: {client.ErrRefused},
		404: {client.ErrNotFound, &client.NoCallError{ID: "order-7", For: "a result"}},
		409: {client.ErrSettled},
		500: {errors.New("disk full: " + secret)},
		503: {client.ErrNoWorker, client.ErrNoServer, client.ErrNotReady},
	} {
		for _, err := range errs {
			if s.err = err; err != nil {
				s.err = fmt.Errorf("agent: %w", err)
			}
			response, said := s.send(http.MethodPost, own, "text/plain", strings.NewReader("done"))
			require.Equal(t, status, response.StatusCode, said)
			require.Equal(t, status == 503, response.Header.Get("Retry-After") != "")
			require.NotContains(t, fmt.Sprint(said), secret)
			require.Equal(t, status == 200, said["accepted"] == true)
		}
	}
}

// A token of a worker with another secret, and of nobody, opens nothing. During a rotation, both secrets do.
func TestSecretsOfTheHandler(t *testing.T) {
	_, err := New(nil, Options{Secret: "short"})
	require.EqualError(t, err, "callback: the secret has 5 bytes; use a secret of at least 24 bytes")
	made, err := New(nil, Options{Secret: "another-secret-of-24-bytes", OldSecrets: []string{secret}})
	require.NoError(t, err)
	s := newStage(t)
	later := made.(*handler)
	_, ok := later.signer.Verify(s.signer.Sign(call))
	require.True(t, ok)
	response, said := s.send(http.MethodPost, later.signer.Sign(call), "text/plain", strings.NewReader("done"))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode, said)
	require.Empty(t, s.given)
}

// A request ends when the worker has not answered in time, and too many results at once wait for each other.
func TestRequestsWaitForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		begun := time.Now()
		s.give = func(ctx context.Context, _ string, _ agent.Key, _ string, _ client.CompleteOptions) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", client.ErrNoWorker, ctx.Err())
		}
		statuses := make(chan int)
		for range maxRequests + 1 {
			go func() {
				r := httptest.NewRequest(http.MethodPost, "/"+s.signer.Sign(call), strings.NewReader("done"))
				r.Header.Set("Content-Type", "text/plain")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				statuses <- w.Code
			}()
		}
		for range maxRequests + 1 {
			require.Equal(t, http.StatusServiceUnavailable, <-statuses)
		}
		require.Equal(t, DefaultWait, time.Since(begun))
	})
}
