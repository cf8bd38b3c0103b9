//go:build faults

package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// folder decides whether this process must kill itself at a point. It reads the files that [Arm] has written into the folder
// `dir`. If the process must kill itself, folder calls the function `die`.
type folder struct {
	dir string
	die func()
	mu  sync.Mutex
}

// reach must be called when this process reaches the point `p`. It does nothing if [Arm] was not called for this point. It
// also does nothing if a word of Arm does not occur in the text `subject`.
//
// The file that Arm wrote for the point begins with a number: how many times workers still reach the point and continue. If this
// number is 0, reach removes the file and calls `f.die`. If it is more, reach reduces it by one.
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
		panic(fmt.Sprintf("fault: the file %s must begin with a number, but contains %q", path, text))
	}
	for _, word := range words[1:] {
		if !strings.Contains(subject, word) {
			return
		}
	}
	// Several processes may come here at the same time. Only one of them can rename the file; the others return.
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

// die kills this process with SIGKILL, so that nothing is flushed.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the calling goroutine must not run on until the signal arrives
}
