package input

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// Only "y" and "yes" mean yes. Without an answer, a command does nothing and says so.
func TestOnlyYesConfirms(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES \n": true, "y": true, "\n": false, "n\n": false, "yy\n": false} {
		got, err := Confirm(t.Context(), strings.NewReader(answer), io.Discard, "Do it?", "nothing was done")
		require.NoError(t, err, answer)
		require.Equal(t, want, got, answer)
	}
	_, err := Confirm(t.Context(), strings.NewReader(""), io.Discard, "Do it?", "nothing was done")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	require.ErrorContains(t, err, "nothing was done: answer y, or give --yes")
}

// Ctrl-C ends a question. The person need not answer it first.
func TestInterruptEndsAQuestion(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	silent, end := io.Pipe()
	defer end.Close()
	yes, err := Confirm(ctx, silent, io.Discard, "Do it?", "nothing was done")
	require.False(t, yes)
	require.Equal(t, exit.Interrupted, exit.CodeOf(err))
	require.ErrorContains(t, err, "nothing was done")
}

// What cannot be undone needs the number, and a "yes" does not do.
func TestOnlyTheNumberConfirmsADeletion(t *testing.T) {
	for answer, want := range map[string]bool{"12\n": true, "12 \n": true, "y\n": false, "yes\n": false, "\n": false, "1\n": false, "012\n": false} {
		var out strings.Builder
		got, err := ConfirmCount(t.Context(), strings.NewReader(answer), &out, "Delete 12 agents?", 12, "nothing was deleted")
		require.NoError(t, err, answer)
		require.Equal(t, want, got, answer)
		require.Equal(t, !want, strings.Contains(out.String(), "Nothing was deleted."), answer)
	}
	_, err := ConfirmCount(t.Context(), strings.NewReader(""), io.Discard, "Delete 12 agents?", 12, "nothing was deleted")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	require.ErrorContains(t, err, "type the number, or give --yes")
}
