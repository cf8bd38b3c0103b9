package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/jsonwords"
)

// New makes a [Tool] from the description `spec` and the function `call`. The tool's method Call runs this function, so the
// function must follow the rules of [Tool.Call]. If it panics, the model gets an error result. An empty effect in the description
// becomes [AtMostOnce]. Use [Func] instead if the schema can be inferred from a Go type.
//
// New returns an error if the function is nil, or if the name, the schema, the effect or the result timeout in the description is
// not valid; see [NameError] and [CheckSchema].
func New(spec Spec, call func(ctx context.Context, args json.RawMessage) (Result, error)) (Tool, error) {
	if call == nil {
		return nil, fmt.Errorf("tool %q: the function is nil; pass the function that runs the tool", spec.Name)
	}
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if spec.Effect == "" {
		spec.Effect = AtMostOnce
	}
	return &function{spec: spec, call: call}, nil
}

// Func makes a [Tool] from the Go function `fn`. The tool decodes the model's arguments into a value of the type `In` and calls
// the function with this value. The return value of the function becomes the result that the model reads.
//
// The type `In` must be a struct or a map with string keys. Func infers the schema of the arguments from this type. The names of
// the arguments come from json tags, and their descriptions come from jsonschema tags. A field with the json option `omitempty` or
// `omitzero` is optional. If the model sends an unknown field, the tool returns an error result and does not call the function. An
// empty effect means [AtMostOnce].
//
// If the function returns a string, the string is the content of the result. If the function returns a [Result], the tool
// returns this Result. For any other value, the content of the result is the value's JSON form.
//
// An error of the function becomes an error result, with two exceptions:
//   - If the error wraps [ErrOutcomeUnknown] or [ErrNotRun], the tool returns the error unchanged.
//   - If the call's context has ended and the error wraps [context.Canceled] or [context.DeadlineExceeded], the tool returns an
//     error. A [ReadOnly] tool returns the function's error. Any other tool returns an error that wraps [ErrOutcomeUnknown] and
//     the function's error, because the function may have done a part of its work.
//
// A panic of the function becomes an error result. The function must be safe for concurrent use. Func returns an error if the
// schema cannot be inferred. Func also returns an error in the cases in which [New] returns one.
func Func[In, Out any](name, description string, effect Effect, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if fn == nil {
		return nil, fmt.Errorf("tool %q: the function is nil; pass the function that runs the tool", name)
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("tool %q: the schema cannot be inferred from the type of the arguments: %w; change the type, or use tool.New with a schema", name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("tool %q: arguments must be a struct or a map with string keys, not %T", name, *new(In))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("tool %q: the schema of the arguments cannot be encoded as JSON: %w; change the type, or use tool.New with a schema", name, err)
	}
	spec := Spec{Name: name, Description: description, Schema: raw, Effect: effect}
	return New(spec, func(ctx context.Context, args json.RawMessage) (Result, error) {
		var in In
		// A number of the type any becomes a json.Number, which keeps all digits.
		if err := exact.Decode(args, &in, exact.Numbers); err != nil {
			return errorResult("arguments of %s cannot be read: %s; correct them and call again", name, jsonwords.Problem(err)), nil
		}
		out, err := fn(ctx, in)
		if err != nil {
			return failure(ctx, effect, err)
		}
		return encode(name, out), nil
	})
}

// MustFunc is like [Func], but panics instead of returning an error. Use MustFunc when the name and the types are fixed in the
// source code.
func MustFunc[In, Out any](name, description string, effect Effect, fn func(context.Context, In) (Out, error)) Tool {
	t, err := Func(name, description, effect, fn)
	if err != nil {
		panic(err)
	}
	return t
}

type function struct {
	spec Spec
	call func(context.Context, json.RawMessage) (Result, error)
}

func (f *function) Spec() Spec { return f.spec }

func (f *function) Call(ctx context.Context, args json.RawMessage) (res Result, err error) {
	defer recovered(ctx, f.spec.Name, &res, &err)
	return f.call(ctx, args)
}

// recovered must be called with `defer`. It logs the stack trace, which the model does not see. The value of a panic may have the arguments of
// the call, so it is logged only at the level Debug, unless Go itself made it.
func recovered(ctx context.Context, name string, res *Result, err *error) {
	v := recover()
	if v == nil {
		return
	}
	said := fmt.Sprintf("%T", v)
	if bug, ok := v.(runtime.Error); ok {
		said = bug.Error()
	}
	logger(ctx).ErrorContext(ctx, "tool panicked", "tool", name, "panic", said, "stack", string(debug.Stack()))
	logger(ctx).DebugContext(ctx, "tool panicked", "tool", name, "panic", v)
	// This must not be a Go error: the caller might then run the tool again, although the tool may have made changes before the
	// panic.
	*res, *err = errorResult("%s failed: panic: %v", name, v), nil
}

// The doc comment of [Func] has the rules: which errors the model reads, and which ones the caller gets.
func failure(ctx context.Context, effect Effect, err error) (Result, error) {
	switch {
	case errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrNotRun):
		return Result{}, err
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		if effect == ReadOnly {
			return Result{}, err
		}
		return Result{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return Result{Content: err.Error(), IsError: true}, nil
}

func encode(name string, out any) Result {
	switch out := out.(type) {
	case string:
		return Result{Content: out}
	case Result:
		return out
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a model reads the text, not a browser
	if err := enc.Encode(out); err != nil {
		// This must not be a Go error: the caller might then run the function again.
		return errorResult("%s ran, but its result cannot be encoded: %v", name, err)
	}
	return Result{Content: string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))}
}

func errorResult(format string, args ...any) Result {
	return Result{Content: fmt.Sprintf(format, args...), IsError: true}
}
