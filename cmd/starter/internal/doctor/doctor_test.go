package doctor

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/app/object"
)

func levels(found []object.Finding) map[string][]object.Level {
	all := map[string][]object.Level{}
	for _, f := range found {
		all[f.Check] = append(all[f.Check], f.Level)
	}
	return all
}

func ignore(object.Finding) error { return nil }

// After a problem, the checks that build on it say that they were not made, also those further down. All others are made.
func TestChecksGoOnAfterAProblem(t *testing.T) {
	t.Parallel()
	finds := func(all ...object.Finding) func(context.Context, *patient) []object.Finding {
		return func(context.Context, *patient) []object.Finding { return all }
	}
	never := func(context.Context, *patient) []object.Finding { panic("it must not be made") }
	var told []object.Finding
	found, err := examine(t.Context(), []check{
		{"connection", nil, time.Minute, finds(well("connected"))},
		{"namespace", []string{"connection"}, time.Minute, finds(well("one"), wrong("there is none", "create it"))},
		{"clock", []string{"namespace"}, time.Minute, never},
		{"watch", []string{"clock"}, time.Minute, never},
		{"attributes", []string{"connection"}, time.Minute, finds(warn("few", "add some"), unchecked("others"))},
		{"inbox", []string{"attributes"}, time.Minute, finds(well("empty"))},
	}, &patient{}, func(f object.Finding) error { told = append(told, f); return nil })
	require.NoError(t, err)
	require.Equal(t, told, found)
	require.Equal(t, map[string][]object.Level{
		"connection": {object.Well}, "namespace": {object.Well, object.Wrong}, "clock": {object.Unchecked}, "watch": {object.Unchecked},
		"attributes": {object.Warning, object.Unchecked}, "inbox": {object.Well},
	}, levels(found))
	require.Equal(t, "not checked, because of the problem with the namespace", found[3].Finding)
}

// A check that takes long says so, and ends when its time is over; the next one is made. An interrupt ends all of them.
func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ *patient) []object.Finding {
			<-ctx.Done()
			return []object.Finding{failed("wait", ctx.Err())}
		}
		all := []check{{"slow", nil, time.Minute, waits}, {"next", nil, time.Minute, func(context.Context, *patient) []object.Finding { return nil }}}
		var stderr bytes.Buffer
		began := time.Now()
		found, err := examine(t.Context(), all, &patient{stderr: &stderr}, ignore)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, map[string][]object.Level{"slow": {object.Wrong}}, levels(found))
		require.Equal(t, "wait: no answer in time", found[0].Finding)
		require.Equal(t, "Checking: slow …\n", stderr.String())

		ctx, stop := context.WithCancelCause(t.Context())
		interrupt := errors.New("interrupt")
		time.AfterFunc(time.Second, func() { stop(interrupt) })
		_, err = examine(ctx, all, &patient{stderr: &stderr}, ignore)
		require.ErrorIs(t, err, interrupt)
	})
}

// Each check builds only on earlier ones.
func TestChecksStandInOrder(t *testing.T) {
	t.Parallel()
	before := map[string]bool{}
	for _, c := range checks {
		for _, need := range c.needs {
			require.True(t, before[need], "%s needs %s", c.name, need)
		}
		require.False(t, before[c.name], c.name)
		before[c.name] = true
	}
}
