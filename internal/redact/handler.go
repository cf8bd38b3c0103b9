package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

type handler struct {
	slog.Handler
	redactor *Redactor
}

// Handler returns a log handler that hides the secrets in log records, and passes the records on to the handler `next`. It hides
// secrets in messages and in the values of attributes, but not in the keys of attributes. A value that contains a secret
// becomes a text.
func (r *Redactor) Handler(next slog.Handler) slog.Handler { return handler{next, r} }

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redactor.Text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(h.attrs(attrs)), h.redactor}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.redactor}
}

func (h handler) attrs(attrs []slog.Attr) []slog.Attr {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = h.attr(a)
	}
	return hidden
}

// attr hides the secrets in the value of an attribute. A value that contains no secret keeps its type.
func (h handler) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		value = slog.GroupValue(h.attrs(value.Group())...)
	case slog.KindString:
		value = slog.StringValue(h.redactor.Text(value.String()))
	case slog.KindAny:
		if text, found := h.secret(value.Any()); found {
			value = slog.StringValue(text)
		}
	default: // numbers, times and the like contain no secret
	}
	return slog.Attr{Key: a.Key, Value: value}
}

// secret reports whether a secret could appear when a log handler prints the value, and returns the value as a text without the
// secrets. A handler prints a value with package fmt or as JSON, and a byte slice as a text. If the JSON encoding panics,
// the text is "[hidden]" and found is true.
func (h handler) secret(value any) (text string, found bool) {
	defer func() {
		if recover() != nil {
			text, found = hidden, true
		}
	}()
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		value = string(v.Bytes())
	}
	if encoded, err := json.Marshal(value); err == nil {
		if text := h.redactor.Text(string(encoded)); text != string(encoded) {
			if plain, ok := value.(string); ok {
				return h.redactor.Text(plain), true
			}
			return text, true
		}
	}
	printed := fmt.Sprintf("%+v", value)
	text = h.redactor.Text(printed)
	return text, text != printed
}
