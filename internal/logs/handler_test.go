package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/llm"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	id     = "0af7651916cd43dd8448eb211c80319c"
)

// logged returns the entries, without their times, that a function logs at a level.
func logged(t *testing.T, level slog.Level, do func(*slog.Logger)) (entries []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	do(slog.New(Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))))
	for line := range strings.Lines(out.String()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		delete(entry, "time")
		entries = append(entries, entry)
	}
	return entries
}

// An entry of Temporal's SDK has the same names as one of the worker. An entry that is not about an agent stays as it is.
func TestFieldsHaveTheSameNames(t *testing.T) {
	entries := logged(t, slog.LevelInfo, func(log *slog.Logger) {
		log.With("WorkflowID", "a", "Namespace", "n").Warn("one", "RunID", "r", "ActivityID", "k")
		log.InfoContext(WithTrace(t.Context(), parent), "two", "agent", "a", "key", "k")
		log.Warn("three", "error", errors.New("no connection"))
		log.WithGroup("g").With("WorkflowID", "a").Warn("four", "RunID", "r")
	})
	require.Equal(t, []map[string]any{
		{"level": "WARN", "msg": "one", "agent": "a", "Namespace": "n", "run": "r", "key": "k"},
		{"level": "INFO", "msg": "two", "agent": "a", "key": "k", "trace": id},
		{"level": "WARN", "msg": "three", "error": "no connection"},
		{"level": "WARN", "msg": "four", "g": map[string]any{"WorkflowID": "a", "RunID": "r"}},
	}, entries)
}

// An entry within an activity gets the fields from its context, and has each once. Also an entry of a logger that [For] has made, which is
// logged without the context.
func TestFieldsComeFromTheActivity(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	var entries []map[string]any
	act := func(ctx context.Context) error {
		ctx = WithTrace(ctx, parent)
		entries = logged(t, slog.LevelInfo, func(log *slog.Logger) {
			log.WarnContext(ctx, "one", "key", "other")
			For(ctx, log).Warn("two")
			For(ctx, log).WarnContext(ctx, "three")
		})
		return nil
	}
	env.RegisterActivity(act)
	_, err := env.ExecuteActivity(act)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		require.Len(t, e, 6, "%v", e)
		require.NotEmpty(t, e["agent"])
		require.NotEmpty(t, e["run"])
		require.Equal(t, id, e["trace"])
	}
	require.Equal(t, "other", entries[0]["key"])
	require.Equal(t, entries[1]["key"], entries[2]["key"])
}

// At the level Info and above, an entry about an agent has the class of an error. The text of the error and results are logged at the level
// Debug only.
func TestContentIsLoggedOnlyForDebugging(t *testing.T) {
	secret := errors.New("the plum is ripe")
	result := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("plum")}}}
	say := func(log *slog.Logger) {
		log = log.With("WorkflowID", "a")
		log.Error("one", "Error", secret)
		log.Info("two", "Result", result, "error", "plum")
		log.Warn("three", "error", fmt.Errorf("said: %w", &llm.Error{Class: llm.InvalidRequest, Message: "plum"}))
	}
	text, err := json.Marshal(logged(t, slog.LevelInfo, say))
	require.NoError(t, err)
	require.JSONEq(t, `[{"level":"ERROR","msg":"one","agent":"a","error_type":"error"},{"level":"INFO","msg":"two","agent":"a"},
		{"level":"WARN","msg":"three","agent":"a","error_type":"InvalidRequest"}]`, string(text))
	entries := logged(t, slog.LevelDebug, say)
	require.Len(t, entries, 6)
	require.Equal(t, map[string]any{"level": "DEBUG", "msg": "one", "agent": "a", "error": "the plum is ripe"}, entries[0])
	require.NotEmpty(t, entries[2]["Result"])
}

// An entry has the text of an error that comes from code alone: a panic of a workflow or an activity, and a missing key.
func TestErrorsOfCodeAreLogged(t *testing.T) {
	missing := &encryption.UnknownKeyError{ID: "2025"}
	for _, err := range []error{workflowPanic{errors.New("does not fit the history")}, missing, fmt.Errorf("unable to decode: %w", missing)} {
		entries := logged(t, slog.LevelInfo, func(log *slog.Logger) { log.Error("one", "WorkflowID", "a", "Error", err) })
		require.Equal(t, []map[string]any{{"level": "ERROR", "msg": "one", "agent": "a", "error": err.Error()}}, entries)
	}
}

// workflowPanic has the methods of the error that the SDK makes of a panic in a workflow.
type workflowPanic struct{ error }

func (workflowPanic) StackTrace() string { return "" }

func TestErrorsHaveClasses(t *testing.T) {
	for want, err := range map[string]error{
		"NotDelivered":    fmt.Errorf("x: %w", temporal.NewApplicationError("x", "NotDelivered")),
		"Timeout":         fmt.Errorf("x: %w", context.DeadlineExceeded),
		"Canceled":        context.Canceled,
		"logs.errorOfOwn": fmt.Errorf("x: %w", errorOfOwn{}),
		"error":           errors.New("x"),
	} {
		require.Equal(t, want, ErrorTypeOf(err))
		hidden := Redacted(err, func(string) string { return "hidden" })
		require.Equal(t, want, ErrorTypeOf(hidden))
		require.Equal(t, "hidden", hidden.Error())
	}
}

type errorOfOwn struct{}

func (errorOfOwn) Error() string { return "own" }

// A handler is not put around another one, so an entry has each field once.
func TestHandlerOfAHandlerIsTheSame(t *testing.T) {
	h := Handler(slog.DiscardHandler)
	require.Equal(t, h, Handler(h))
}
