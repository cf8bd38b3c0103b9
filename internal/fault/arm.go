package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Arm arms the point p in the folder dir: the first worker process that hits the point kills itself. The parameter pass is
// the number of hits before this one that do not kill. A hit counts only if it has all of the given words. They are
// searched in the workflow ID and, for an activity, also in its input.
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
