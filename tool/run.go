package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Run calls a tool with the arguments that a model wrote. It returns the result and the error of [Tool.Call]. If the tool
// panics, Run returns an error result.
//
// Run checks the arguments first. They must be a JSON object and match the tool's schema. Empty arguments count as {}. The
// check fails if the arguments do not match, or if they are too large or too deeply nested to be checked. The tool then does
// not run, and Run returns an error result that describes the problem. If the check succeeds, the tool gets the arguments
// exactly as the model wrote them, without surrounding white space.
//
// For some schemas, Run checks only that the arguments are a JSON object. These are the empty schema, a schema that
// [CheckSchema] refuses, and a schema that the validator does not support. An unsupported schema is, for example, one that
// refers to another document.
//
// After the end of its context, the tool has 5 seconds to return. Then Run abandons the call, which keeps running: Run writes a log
// entry and returns an error that wraps the context's error. If the tool is not [ReadOnly], the error also wraps
// [ErrOutcomeUnknown]. Run is safe for concurrent use.
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
	logger(ctx).ErrorContext(ctx, "tool did not return after the end of its context; the call is abandoned but keeps running", "tool", spec.Name)
	go func() {
		<-returned
		logger(ctx).WarnContext(ctx, "abandoned tool call returned", "tool", spec.Name, "after", time.Since(began))
	}()
	err := fmt.Errorf("%s did not return within %v after the end of its context: %w", spec.Name, abandonAfter, ctx.Err())
	if spec.Effect != ReadOnly {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return Result{}, err
}

// abandonAfter is how long [Run] waits for a tool to return after the end of its context. The built-in shell needs up to 4 seconds
// to stop a command.
const abandonAfter = 5 * time.Second

type outcome struct {
	result Result
	err    error
}

// parseObject decodes the arguments of a call for the validator. If they are not a JSON object, `problem` completes the sentence
// "arguments of <tool> …"; it is "" if they are.
func parseObject(args string) (object map[string]any, problem string) {
	v, err := decode(args)
	object, ok := v.(map[string]any)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, "are not valid JSON: they end too early"
	case err != nil:
		return nil, "are not valid JSON: " + err.Error()
	case !ok:
		return nil, "must be a JSON object"
	}
	return object, ""
}

var errMore = errors.New("text follows the JSON value")

// decode decodes one JSON value for the validator. If there is more than one, the error is [errMore].
func decode(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	return plainNumbers(v), nil
}

// plainNumbers replaces each [json.Number] in `v` by an int64 or a float64, because the validator would treat a json.Number as a
// string. It changes the maps and slices of `v` in place. A number that is too large for a float64 becomes the largest one; the
// tool itself gets all numbers as the model wrote them.
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
		// An integer without fraction or exponent stays exact if it fits into an int64.
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil { // too large for a float64
			return math.Copysign(math.MaxFloat64, f)
		}
		return f
	}
	return v
}
