package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

type orderIn struct {
	ID   any    `json:"id" jsonschema:"the order"`
	Note string `json:"note,omitempty"`
}

func call(t *testing.T, tl tool.Tool, args string) tool.Result {
	t.Helper()
	res, err := tool.Run(t.Context(), tl, args)
	require.NoError(t, err)
	return res
}

func TestFuncDescribesItsArguments(t *testing.T) {
	tl := tool.MustFunc("order", "Orders.", "", func(context.Context, orderIn) (string, error) { return "", nil })
	spec := tl.Spec()
	require.Equal(t, "order", spec.Name)
	require.Equal(t, tool.AtMostOnce, spec.Effect)
	require.JSONEq(t, `{
		"type": "object",
		"properties": {"id": {"description": "the order"}, "note": {"type": "string"}},
		"required": ["id"],
		"additionalProperties": false
	}`, string(spec.Schema))
}

func TestToolIsDestructiveUnlessItsDescriptionSaysOtherwise(t *testing.T) {
	for spec, destructive := range map[*tool.Spec]bool{
		{}:                        true,
		{Effect: "sometimes"}:     true,
		{Effect: tool.AtMostOnce}: true,
		{Effect: tool.Idempotent}: true,
		{Effect: tool.ReadOnly}:   false,
		{NotDestructive: true}:    false,
		{Effect: tool.Idempotent, NotDestructive: true}: false,
	} {
		require.Equal(t, destructive, spec.Destructive(), "%+v", *spec)
	}
	made, err := tool.New(tool.Spec{Name: "append", NotDestructive: true},
		func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{}, nil })
	require.NoError(t, err)
	require.False(t, made.Spec().Destructive())
}

func TestFuncEncodesItsResult(t *testing.T) {
	str := tool.MustFunc("s", "", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "<a>", nil })
	require.Equal(t, tool.Result{Content: "<a>"}, call(t, str, ""))

	obj := tool.MustFunc("o", "", tool.ReadOnly, func(context.Context, struct{}) (map[string]int64, error) {
		return map[string]int64{"<n>": 9007199254740993}, nil
	})
	require.Equal(t, tool.Result{Content: `{"<n>":9007199254740993}`}, call(t, obj, "{}"))

	res := tool.MustFunc("r", "", tool.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Content: "no", IsError: true}, nil
	})
	require.Equal(t, tool.Result{Content: "no", IsError: true}, call(t, res, "{}"))

	bad := tool.MustFunc("b", "", tool.ReadOnly, func(context.Context, struct{}) (any, error) { return func() {}, nil })
	got := call(t, bad, "{}")
	require.True(t, got.IsError)
	require.Contains(t, got.Content, "b ran, but its result cannot be encoded")
}

func TestFuncErrorsAreSortedByWhoCanMendThem(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		effect  tool.Effect
		ctx     context.Context
		err     error
		result  string // the model reads this
		is      error  // or the caller gets this
		unknown bool
	}{
		"plain":                {ctx: t.Context(), err: errors.New("no such order"), result: "no such order"},
		"outcome unknown":      {ctx: t.Context(), err: fmt.Errorf("post: %w", tool.ErrOutcomeUnknown), is: tool.ErrOutcomeUnknown, unknown: true},
		"not run":              {ctx: t.Context(), err: fmt.Errorf("busy: %w", tool.ErrNotRun), is: tool.ErrNotRun},
		"own timeout":          {ctx: t.Context(), err: context.DeadlineExceeded, result: "context deadline exceeded"},
		"cancelled":            {ctx: ended, err: context.Canceled, is: context.Canceled, unknown: true},
		"cancelled, read-only": {ctx: ended, err: context.Canceled, effect: tool.ReadOnly, is: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			tl := tool.MustFunc("f", "", c.effect, func(context.Context, struct{}) (string, error) { return "", c.err })
			res, err := tool.Run(c.ctx, tl, "{}")
			if c.is == nil {
				require.NoError(t, err)
				require.Equal(t, tool.Result{Content: c.result, IsError: true}, res)
				return
			}
			require.ErrorIs(t, err, c.is)
			require.Equal(t, c.unknown, errors.Is(err, tool.ErrOutcomeUnknown))
		})
	}
}

func TestPanicIsAnErrorResultWithoutStack(t *testing.T) {
	tl := tool.MustFunc("f", "", "", func(context.Context, struct{}) (string, error) { panic("index 3") })
	require.Equal(t, tool.Result{Content: "f failed: panic: index 3", IsError: true}, call(t, tl, "{}"))
	require.Equal(t, tool.Result{Content: "raw failed: panic: boom", IsError: true}, call(t, panicking{}, "{}"))
}

type panicking struct{}

func (panicking) Spec() tool.Spec { return tool.Spec{Name: "raw"} }
func (panicking) Call(context.Context, json.RawMessage) (tool.Result, error) {
	panic("boom")
}

func TestFuncRefusesWhatAModelCannotCall(t *testing.T) {
	_, err := tool.Func("has.dot", "", "", func(context.Context, struct{}) (string, error) { return "", nil })
	var nameErr *tool.NameError
	require.ErrorAs(t, err, &nameErr)
	_, err = tool.Func("f", "", "", func(context.Context, int) (string, error) { return "", nil })
	require.ErrorContains(t, err, "must be a struct")
	_, err = tool.Func("f", "", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	require.Error(t, err)
	_, err = tool.Func("f", "", "sometimes", func(context.Context, struct{}) (string, error) { return "", nil })
	require.ErrorContains(t, err, "unknown effect")
	_, err = tool.Func[struct{}, string]("f", "", "", nil)
	require.Error(t, err)
}

func TestInfoReachesTheTool(t *testing.T) {
	tl := tool.MustFunc("f", "", "", func(ctx context.Context, _ struct{}) (string, error) { return tool.InfoFrom(ctx).Key, nil })
	ctx, cancel := context.WithTimeout(tool.WithInfo(t.Context(), tool.Info{Key: "tool-1"}), time.Minute)
	defer cancel()
	res, err := tool.Run(ctx, tl, "{}")
	require.NoError(t, err)
	require.Equal(t, "tool-1", res.Content)
	require.Zero(t, tool.InfoFrom(t.Context()))
}
