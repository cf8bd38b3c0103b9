//go:build faults

package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// folder holds the armed points.
type folder struct {
	dir string
	die func()
	mu  sync.Mutex
}

// reach dies where the point is armed for the subject.
func (f *folder) reach(p Point, subject string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, string(p))
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var pass int
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return
	}
	if _, err := fmt.Sscan(words[0], &pass); err != nil {
		panic(fmt.Sprintf("fault: %s holds %q", path, text))
	}
	for _, word := range words[1:] {
		if !strings.Contains(subject, word) {
			return
		}
	}
	// Several processes may come here at once, and one of them gets the file.
	mine := fmt.Sprint(path, ".", os.Getpid())
	if os.Rename(path, mine) != nil {
		return
	}
	if err := os.Remove(mine); err != nil {
		panic("fault: " + err.Error())
	}
	if pass == 0 {
		f.die()
		return
	}
	if err := Arm(f.dir, p, pass-1, words[1:]...); err != nil {
		panic("fault: " + err.Error())
	}
}

// die ends this process the way a machine that loses its power does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing of this process goes on
}
