package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Arm lets the first process die that comes to the point, in a workflow whose ID, or in an activity
// whose input, has all of the words. It lets pass as many hits before.
func Arm(dir string, p Point, pass int, words ...string) error {
	path := filepath.Join(dir, string(p))
	// Whole at once: a process may look at any time.
	whole := path + ".new"
	if err := os.WriteFile(whole, fmt.Appendln(nil, pass, strings.Join(words, " ")), 0o600); err != nil {
		return err
	}
	return os.Rename(whole, path)
}

// Armed reports whether no process has died at the point since it was armed.
func Armed(dir string, p Point) bool {
	_, err := os.Stat(filepath.Join(dir, string(p)))
	return err == nil
}
