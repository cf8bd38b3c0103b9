package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"
)

// New makes a tool of a description and the function that runs it, the raw form
// of [Func]. The function follows the contract of [Tool.Call]. New fails when the
// name or the schema cannot be given to a model.
func New(spec Spec, call func(ctx context.Context, args json.RawMessage) (Result, error)) (Tool, error) {
	if call == nil {
		return nil, fmt.Errorf("tool %q: no function", spec.Name)
	}
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if spec.Effect == "" {
		spec.Effect = AtMostOnce
	}
	return &function{spec: spec, call: call}, nil
}

// Func makes a tool of a Go function. The schema of the arguments is inferred
// from In, a struct or a map with string keys: names come from json tags,
// descriptions from jsonschema tags, and a field with omitempty is optional. The
// zero effect means [AtMostOnce].
//
// Arguments are decoded strictly: an unknown field is an error the model reads. An
// Out that is a string is the result's text, a [Result] is the result, and
// anything else is encoded as JSON.
//
// An error that fn returns is a result too, marked as an error, except for three
// kinds: one that wraps [ErrOutcomeUnknown] or [ErrNotRun] is returned as it is;
// and one that wraps a context error, when the call's own context has ended, is
// returned, wrapped in [ErrOutcomeUnknown] unless the tool is [ReadOnly], since
// nobody knows how far fn came. A panic is an error result.
//
// fn must be safe for concurrent use.
func Func[In, Out any](name, description string, effect Effect, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if fn == nil {
		return nil, fmt.Errorf("tool %q: no function", name)
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("tool %q: schema of the arguments: %w", name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("tool %q: arguments must be a struct or a map with string keys, not %T", name, *new(In))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("tool %q: schema of the arguments: %w", name, err)
	}
	spec := Spec{Name: name, Description: description, Schema: raw, Effect: effect}
	return New(spec, func(ctx context.Context, args json.RawMessage) (Result, error) {
		var in In
		if err := decodeStrict(args, &in); err != nil {
			return errorResult("arguments of %s cannot be read: %v; correct them and call again", name, err), nil
		}
		out, err := fn(ctx, in)
		if err != nil {
			return failure(ctx, effect, err)
		}
		return encode(name, out), nil
	})
}

// MustFunc is [Func] that panics where Func fails, for tools whose types are
// known when the program is written.
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

// recovered turns a panic into an error result: whatever the tool had done by
// then is done, so the call is answered rather than run again. The stack is for
// people; it goes to the log.
func recovered(ctx context.Context, name string, res *Result, err *error) {
	v := recover()
	if v == nil {
		return
	}
	slog.ErrorContext(ctx, "tool panicked", "tool", name, "panic", v, "stack", string(debug.Stack()))
	*res, *err = errorResult("%s failed: panic: %v", name, v), nil
}

// failure sorts the error of a tool's function: what the model reads, and what
// the caller has to know.
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

// encode makes a result of a function's value. The function has run by now, so
// a value that cannot be encoded is a result that says so.
func encode(name string, out any) Result {
	switch out := out.(type) {
	case string:
		return Result{Content: out}
	case Result:
		return out
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the reader is a model, not a browser
	if err := enc.Encode(out); err != nil {
		return errorResult("%s ran, but its result cannot be encoded: %v", name, err)
	}
	return Result{Content: string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))}
}

// decodeStrict decodes exactly one JSON value without unknown fields. Numbers
// that go into an interface keep their digits.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func errorResult(format string, args ...any) Result {
	return Result{Content: fmt.Sprintf(format, args...), IsError: true}
}
