package session

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestWaitForAWorkerIsADurationOfAtLeastZero(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "90s": 90 * time.Second, "2m": 2 * time.Minute} {
		var limit time.Duration
		cmd := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
		AddWait(cmd, &limit, time.Hour)
		require.Equal(t, time.Hour, limit)
		cmd.SetArgs([]string{"--wait", text})
		require.NoError(t, cmd.Execute())
		require.Equal(t, want, limit)
	}
}
