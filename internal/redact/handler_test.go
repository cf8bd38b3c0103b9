package redact_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/redact"
)

// No part of a record that can hold foreign text brings a secret into a log. Other values stay what they are.
func TestAttackNoLogHasASecret(t *testing.T) {
	const secret = "sk-0123456789abcdefghij"
	var out bytes.Buffer
	log := slog.New(redact.New(secret).Handler(slog.NewJSONHandler(&out, nil)))
	err := fmt.Errorf("call: %w", errors.New("Bearer "+secret))
	log.With("with", secret).WithGroup("group").Error("key "+secret,
		"text", secret, "error", err, "struct", struct{ Key string }{secret}, "list", []string{secret}, "bytes", []byte(secret),
		"valuer", valuer(secret), slog.Group("inner", "deep", secret), "count", 3, "kept", map[string]int{"a": 1})
	require.NotContains(t, out.String(), secret[:12])
	require.Contains(t, out.String(), `"with":"[hidden]"`)
	require.Contains(t, out.String(), `"error":"call: Bearer [hidden]"`)
	require.Contains(t, out.String(), `"inner":{"deep":"[hidden]"}`)
	require.Contains(t, out.String(), `"count":3,"kept":{"a":1}`)
}

type valuer string

func (v valuer) LogValue() slog.Value { return slog.StringValue(string(v)) }
