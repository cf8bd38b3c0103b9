package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Arm makes one worker process kill itself when the process reaches the point `p`. For this, Arm writes a file into the
// folder `dir`. The workers find the path of this folder in the environment variable [Env]. `pass` says how many times
// workers first reach the point and continue. If `pass` is 0, the first worker that reaches the point kills itself.
//
// The words restrict Arm to certain agents or activities: each word must occur in the workflow ID or in the activity's input. If
// one does not occur, the worker continues, and this does not count for `pass`. Without words, there is no restriction.
func Arm(dir string, p Point, pass int, words ...string) error {
	path := filepath.Join(dir, string(p))
	// A rename, because a process may read the file at any time and must not read a part of it.
	whole := path + ".new"
	if err := os.WriteFile(whole, fmt.Appendln(nil, pass, strings.Join(words, " ")), 0o600); err != nil {
		return err
	}
	return os.Rename(whole, path)
}

// Armed reports whether [Arm] was called for the point `p` and no process has killed itself there since.
func Armed(dir string, p Point) bool {
	_, err := os.Stat(filepath.Join(dir, string(p)))
	return err == nil
}
