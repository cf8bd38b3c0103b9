// Package version tells which version of the programs this is.
package version

import (
	"runtime/debug"
	"strings"
)

// String returns the module's version as Go has recorded it in the program, such as "v0.2.0", or "devel" with the commit where it was
// built from a folder, and the version of Go.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return text(info)
}

func text(info *debug.BuildInfo) string {
	version, commit, changed := strings.Trim(info.Main.Version, "()"), "", ""
	if version == "" {
		version = "devel"
	}
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
