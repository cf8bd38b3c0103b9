// Package version returns the version of the running program.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
	"sync"
)

// The linker sets release and commit in the programs of a release: see internal/dev/release. Those programs are built without the
// information that Go records of the repository, so that they are the same wherever they are built.
var release, commit string

// String returns the version of the main module, the commit if it is known, and the version of Go, such as "v0.2.0, go1.26". The
// version is "devel" if Go has recorded none. If Go has recorded changes that are not committed, "with changes" follows the commit.
// String returns "unknown" for a program without build information.
func String() string { return current() }

// current reads the build information once and keeps the text, because a worker sends its version with each heartbeat.
var current = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if release != "" {
		info.Main.Version = release
		info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: commit}}
	}
	return text(info)
})

func text(info *debug.BuildInfo) string {
	version, commit, changed := cmp.Or(strings.Trim(info.Main.Version, "()"), "devel"), "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = ", commit " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return version + commit + changed + ", " + info.GoVersion
}
