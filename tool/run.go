package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Run calls a tool with the arguments that a model wrote. It checks them before
// the tool runs: they must be a JSON object, with empty text taken as {}, and
// match the tool's schema. A violation is an error [Result] that names the field;
// the tool has not run then. A schema that cannot be checked, being of another
// draft or with a reference out of itself, is not checked.
//
// The tool receives the arguments as they were written, digits included. A panic
// of the tool is an error Result. Otherwise Result and error are those of
// [Tool.Call]. A tool that has not returned some seconds after the end of its context is abandoned: Run logs that and
// returns an error that wraps the context's, and [ErrOutcomeUnknown] unless the tool is [ReadOnly]. Run is safe for
// concurrent use.
func Run(ctx context.Context, t Tool, args string) (Result, error) {
	spec := t.Spec()
	args = strings.TrimSpace(args)
	if args == "" {
		args = "{}"
	}
	object, problem := parseObject(args)
	if problem != "" {
		return errorResult("arguments of %s %s; correct them and call again", spec.Name, problem), nil
	}
	if problem := violation(spec.Schema, object); problem != "" {
		return errorResult("arguments do not match the schema of %s: %s; correct them and call again", spec.Name, problem), nil
	}
	returned := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() { returned <- o }()
		defer recovered(ctx, spec.Name, &o.result, &o.err)
		o.result, o.err = t.Call(ctx, json.RawMessage(args))
	}()
	select {
	case o := <-returned:
		return o.result, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(abandonAfter)
	defer late.Stop()
	select {
	case o := <-returned:
		return o.result, o.err
	case <-late.C:
	}
	began := time.Now()
	slog.ErrorContext(ctx, "a tool ignores the end of its context; its call is abandoned and goes on", "tool", spec.Name)
	go func() {
		<-returned
		slog.WarnContext(ctx, "an abandoned call of a tool has returned", "tool", spec.Name, "after", time.Since(began))
	}()
	err := fmt.Errorf("%s did not return within %v after the end of its context: %w", spec.Name, abandonAfter, ctx.Err())
	if spec.Effect != ReadOnly {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return Result{}, err
}

// abandonAfter is the time that a tool has to return after the end of its context.
const abandonAfter = 5 * time.Second

// outcome is the result of a call.
type outcome struct {
	result Result
	err    error
}

// parseObject decodes a JSON object for validation, or says what is wrong with
// it.
func parseObject(args string) (object map[string]any, problem string) {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, "are not valid JSON: they end too early"
		}
		return nil, "are not valid JSON: " + err.Error()
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, "are not valid JSON: text follows the JSON value"
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, "must be a JSON object"
	}
	return plainNumbers(m).(map[string]any), ""
}

// plainNumbers replaces each json.Number, which the validator takes for a
// string, by an int64 where that is exact and a float64 otherwise. Only the
// validator sees them.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil { // beyond float64
			return math.Copysign(math.MaxFloat64, f)
		}
		return f
	}
	return v
}
