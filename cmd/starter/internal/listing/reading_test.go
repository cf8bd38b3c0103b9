package listing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/client"
)

// The list shows the status "unknown" and the reason for an agent that cannot be read.
func TestListShowsUnknownForWhatCannotBeRead(t *testing.T) {
	var out bytes.Buffer
	read := &reading{out: &out}
	defer read.stop()
	rows, err := read.all(t.Context(), func(_ context.Context, e client.Entry) (client.Snapshot, error) {
		switch e.ID {
		case "gone":
			return client.Snapshot{}, fmt.Errorf("look at gone: %w", client.ErrNotFound)
		case "encoded":
			return client.Snapshot{}, fmt.Errorf("read: %w", client.ErrEncoded)
		case "odd":
			return client.Snapshot{}, errors.New("of another\x1b[2J version")
		}
		return client.Snapshot{Status: client.Held, WaitsFor: client.WaitsForRelease}, nil
	}, []client.Entry{{ID: "a", Status: client.Running}, {ID: "gone"}, {ID: "odd", Status: client.Running, Task: "sums"}, {ID: "b"}, {ID: "encoded"}})
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, "a", rows[0].Entry.ID)
	require.Equal(t, client.Held, rows[0].Snapshot.Status)
	require.Equal(t, "odd", rows[1].Entry.ID)
	require.Equal(t, client.Snapshot{ID: "odd", Status: client.Unknown, Task: "sums"}, rows[1].Snapshot)
	require.Equal(t, "b", rows[2].Entry.ID)
	require.Equal(t, client.Unknown, rows[3].Snapshot.Status)
	read.stop()
	require.Equal(t, `Agent odd: its state is unknown: of another\x1b[2J version`+"\n"+
		"A codec has encoded 1 of the agents, so their state is unknown: set TEMPORAL_CODEC_ENDPOINT to the codec server of this namespace, or REAGENT_ENCRYPTION_KEYS_FILE to the file with the keys.\n", out.String())
}

// If Temporal does not answer, list returns an error and not a list of unknown agents.
func TestListFailsWhenTemporalGoesAway(t *testing.T) {
	read := &reading{out: &bytes.Buffer{}}
	defer read.stop()
	_, err := read.all(t.Context(), func(context.Context, client.Entry) (client.Snapshot, error) {
		return client.Snapshot{}, serviceerror.NewUnavailable("down")
	}, []client.Entry{{ID: "a"}})
	require.ErrorContains(t, err, "down")
}

// list reads at most readAtOnce histories at the same time, and reports its progress.
func TestListReadsManyAgentsWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		read := &reading{out: &out}
		defer read.stop()
		began := time.Now()
		rows, err := read.all(t.Context(), func(context.Context, client.Entry) (client.Snapshot, error) {
			time.Sleep(time.Second) // of the bubble's clock
			return client.Snapshot{Status: client.Waiting}, nil
		}, make([]client.Entry, 3*readAtOnce))
		require.NoError(t, err)
		require.Len(t, rows, 3*readAtOnce)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Regexp(t, `^Reading the histories of the agents: \d+ read so far …\n$`, out.String())
	})
}
