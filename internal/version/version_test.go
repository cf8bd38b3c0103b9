package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionNamesReleaseCommitAndGo(t *testing.T) {
	require.Equal(t, "v0.2.0, go1.26.0", text(&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.2.0"}}))
	require.Equal(t, "devel, commit 0123456789ab with changes, go1.26.0", text(&debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}))
	require.Equal(t, "devel, go1.26.0", text(&debug.BuildInfo{GoVersion: "go1.26.0"}))
	require.NotEmpty(t, String())
}
