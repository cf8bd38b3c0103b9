package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Arm arms a point in the folder dir: the first worker process that reaches the point then kills itself. Only a hit counts
// that has all of the words in its workflow ID or, for an activity, in its workflow ID and input. The first hits, as many
// as pass, do not kill.
func Arm(dir string, p Point, pass int, words ...string) error {
	path := filepath.Join(dir, string(p))
	// A rename, because a process may read the file at any time and must not read a part of it.
	whole := path + ".new"
	if err := os.WriteFile(whole, fmt.Appendln(nil, pass, strings.Join(words, " ")), 0o600); err != nil {
		return err
	}
	return os.Rename(whole, path)
}

// Armed reports whether the point is armed and no process has killed itself there yet.
func Armed(dir string, p Point) bool {
	_, err := os.Stat(filepath.Join(dir, string(p)))
	return err == nil
}
