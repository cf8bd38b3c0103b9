package mcp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// What a server says about the progress of a call is shown while the call runs, and is no part of the result. A server is asked for
// it only if somebody watches. Notifications with another token, of any type, are ignored.
func TestProgressOfTheServerIsShownWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T) (source tool.Source, done func() []string, release func()){
		"stdio": func(t *testing.T) (tool.Source, func() []string, func()) {
			l := startLocal(t, nil)
			return l, l.done, nil
		},
		"newest revision over HTTP": func(t *testing.T) (tool.Source, func() []string, func()) {
			s := newSite(t, nil)
			return s.connect(nil), s.done, func() { s.release <- struct{}{} }
		},
		"sessions over HTTP": func(t *testing.T) (tool.Source, func() []string, func()) {
			s := newSite(t, nil)
			return s.connect(legacy), s.done, func() { s.release <- struct{}{} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, done, release := connect(t)
			block := find(t, source, "block")
			shown := new(buffer)
			ctx := tool.WithInfo(t.Context(), tool.Info{Key: "k", Progress: func(text string) { _, _ = shown.Write([]byte(text)) }})
			watched := start(ctx, block, "")
			unwatched := start(tool.WithInfo(t.Context(), tool.Info{Key: "u"}), block, "")
			require.Eventually(t, func() bool { return shown.String() == "1.5\n2 of 3000000: reads\n" }, patience, 1e6, shown)
			require.Eventually(t, func() bool { return slices.Contains(done(), "block u") }, patience, 1e6)
			if release != nil { // the server over stdio never releases a call
				release()
				release()
				for _, call := range []<-chan called{watched, unwatched} {
					got := <-call
					require.NoError(t, got.err)
					require.Equal(t, "released", got.res.Content)
				}
			}
			require.Equal(t, 1, strings.Count(strings.Join(done(), "\n"), "token"))
			require.Equal(t, "1.5\n2 of 3000000: reads\n", shown.String())
		})
	}
}
