// Package logs gives the log entries about agents the same fields everywhere, and keeps what people, models and tools say out of them.
package logs

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/internal/traceparent"
)

// The fields of entries about agents.
const (
	// Agent is the ID of the agent.
	Agent = "agent"
	// Key is the key of a model call or tool call, or the ID of another activity of the agent.
	Key = "key"
	// Run is the ID of Temporal's run.
	Run = "run"
	// Trace is the ID of the trace of the message.
	Trace = "trace"
	// ErrorType is the class of an error: see [ErrorTypeOf].
	ErrorType = "error_type"
)

// errorText is the field with the text of an error.
const errorText = "error"

// renamed has the fields of Temporal's SDK that have another name here.
var renamed = map[string]string{"WorkflowID": Agent, "RunID": Run, "ActivityID": Key, "Error": errorText}

// order is the order in which the fields that an entry gets from its context come.
var order = []string{Agent, Key, Run, Trace}

type traceKey struct{}

// TraceID returns the ID of the trace of a traceparent. It is empty if the traceparent is empty or not valid.
func TraceID(parent string) string {
	return spanTrace(traceparent.Below(context.Background(), parent))
}

// WithTrace returns a context whose entries belong to the trace of a traceparent. An empty one, or one that is not valid, changes nothing.
func WithTrace(ctx context.Context, parent string) context.Context {
	if id := TraceID(parent); id != "" {
		return context.WithValue(ctx, traceKey{}, id)
	}
	return ctx
}

// traceOf returns the ID of the trace to which the entries of a context belong: that of [WithTrace], else that of its span; "" for none.
func traceOf(ctx context.Context) string {
	if id, ok := ctx.Value(traceKey{}).(string); ok {
		return id
	}
	return spanTrace(ctx)
}

func spanTrace(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		return span.TraceID().String()
	}
	return ""
}

type handler struct {
	next slog.Handler
	// set has the fields that WithAttrs has set.
	set []string
	// grouped says that further attributes belong to a group. They keep their names.
	grouped bool
}

// Handler returns a log handler that changes entries about agents, and passes all entries on to the handler `next`:
//   - An entry gets the fields [Agent], [Key] and [Run] from the context of an activity, and [Trace] from that of [WithTrace] or a span,
//     unless it has them.
//   - Fields of Temporal's SDK get these names.
//   - From the level Info on, the text of an error is replaced by [ErrorType], because it may have parts of a conversation, and the result of
//     an activity is left out. If the level Debug is on, a second entry of this level has both.
//
// A handler of this package is returned as it is.
func Handler(next slog.Handler) slog.Handler {
	if known, ok := next.(handler); ok {
		return known
	}
	return handler{next: next}
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, h.renamed(a))
		return true
	})
	has := func(name string) bool {
		return slices.Contains(h.set, name) || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == name })
	}
	var added []slog.Attr
	known := fieldsOf(ctx)
	for _, name := range order {
		if value := known[name]; value != "" && !has(name) {
			added = append(added, slog.String(name, value))
		}
	}
	about := has(Agent) || known[Agent] != ""
	attrs = append(added, attrs...)
	if !about || r.Level < slog.LevelInfo {
		return h.next.Handle(ctx, with(r, r.Level, attrs))
	}
	public := withoutContent(attrs)
	if len(public) != len(attrs) || !slices.EqualFunc(public, attrs, func(a, b slog.Attr) bool { return a.Key == b.Key }) {
		if h.next.Enabled(ctx, slog.LevelDebug) {
			if err := h.next.Handle(ctx, with(r, slog.LevelDebug, attrs)); err != nil {
				return err
			}
		}
	}
	return h.next.Handle(ctx, with(r, r.Level, public))
}

func with(r slog.Record, level slog.Level, attrs []slog.Attr) slog.Record {
	made := slog.NewRecord(r.Time, level, r.Message, r.PC)
	made.AddAttrs(attrs...)
	return made
}

// For returns a logger whose entries have the fields that a context gives, also those that are logged without the context.
func For(ctx context.Context, log *slog.Logger) *slog.Logger {
	known := fieldsOf(ctx)
	for _, name := range order {
		if known[name] != "" {
			log = log.With(name, known[name])
		}
	}
	return log
}

// fieldsOf returns the fields of entries with a context. A field that is not known is empty.
func fieldsOf(ctx context.Context) map[string]string {
	if ctx == nil {
		return nil
	}
	fields := map[string]string{Trace: traceOf(ctx)}
	if activity.IsActivity(ctx) {
		info := activity.GetInfo(ctx)
		fields[Agent], fields[Key], fields[Run] = info.WorkflowExecution.ID, info.ActivityID, info.WorkflowExecution.RunID
	}
	return fields
}

func (h handler) renamed(a slog.Attr) slog.Attr {
	if name := renamed[a.Key]; name != "" && !h.grouped {
		a.Key = name
	}
	return a
}

// withoutContent leaves out what may have parts of a conversation.
func withoutContent(attrs []slog.Attr) []slog.Attr {
	public := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		value := a.Value.Resolve()
		switch v := value.Any().(type) {
		case error:
			if keepsText(v) {
				public = append(public, slog.String(a.Key, v.Error()))
			} else {
				public = append(public, slog.String(ErrorType, ErrorTypeOf(v)))
			}
			continue
		case *commonpb.Payload, *commonpb.Payloads:
			continue
		}
		if a.Key == errorText && value.Kind() == slog.KindString {
			continue
		}
		public = append(public, a)
	}
	return public
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	named := make([]slog.Attr, len(attrs))
	set := slices.Clone(h.set)
	for i, a := range attrs {
		named[i] = h.renamed(a)
		if !h.grouped {
			set = append(set, named[i].Key)
		}
	}
	return handler{h.next.WithAttrs(named), set, h.grouped}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.next.WithGroup(name), h.set, h.grouped || name != ""}
}
