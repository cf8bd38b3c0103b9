package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Arm arms the point p in the folder dir: one worker process that reaches the point kills itself. The parameter pass is the
// number of times that worker processes reach the point and continue before that. If it is 0, the first process that reaches
// the point kills itself.
//
// The parameter words may be empty. Otherwise the point counts as reached only if each word occurs in the workflow ID or, for
// an activity, in its input.
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
