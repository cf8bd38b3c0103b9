package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/redact"
)

const secret = "sk-0123456789abcdefghij"

// No part of a record that can hold foreign text brings a secret into a log, in no form that a handler prints.
func TestAttackNoLogHasASecret(t *testing.T) {
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		for part, value := range map[string]any{
			"text": secret, "error": fmt.Errorf("call: %w", errors.New("Bearer "+secret)), "struct": struct{ Key string }{secret},
			"list": []string{secret}, "bytes": []byte(secret), "raw": json.RawMessage(`{"key":"` + secret + `"}`),
			"no JSON": json.RawMessage(secret), "bytes within": struct{ Key []byte }{[]byte(secret)}, "valuer": valuer(secret),
			"unexported": struct{ key string }{secret}, "panics": panics{secret},
			"group": slog.GroupValue(slog.String("deep", secret)),
		} {
			var out bytes.Buffer
			log := slog.New(redact.New(secret).Handler(handler(&out)))
			log.With(part, value).WithGroup("group").Error("key "+secret, part, value)
			require.NotContains(t, out.String(), secret[:12], "%s: %s", name, part)
			require.NotContains(t, out.String(), base64.StdEncoding.EncodeToString([]byte(secret))[:12], "%s: %s", name, part)
			require.NotContains(t, out.String(), "115 107 45", "%s: %s", name, part) // the bytes of the secret as numbers
			require.Contains(t, out.String(), "[hidden]", "%s: %s", name, part)
		}
	}
}

// Values without a secret stay what they are.
func TestHandlerKeepsOtherValues(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(redact.New(secret).Handler(slog.NewJSONHandler(&out, nil)))
	log.Info("m", "count", 3, "map", map[string]int{"a": 1}, "bytes", []byte("ab"), "error", errors.New("plain"))
	require.Contains(t, out.String(), `"count":3,"map":{"a":1},"bytes":"YWI=","error":"plain"`)
}

type valuer string

func (v valuer) LogValue() slog.Value { return slog.StringValue(string(v)) }

type panics struct{ key string }

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON") }
