//go:build faults

package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// folder decides whether this process must kill itself at a point. It reads the files that [Arm] has written into the folder in
// its field "dir". If the process must kill itself, folder calls the function in its field "die".
type folder struct {
	dir string
	die func()
	mu  sync.Mutex
}

// reach must be called when this process reaches the point p. If p is not armed, or if a word of [Arm] does not occur in the
// given text (subject), reach does nothing.
//
// Otherwise, the file of the point says how many times workers still pass the point; see [Arm]. If this number is 0, reach
// removes the file and calls f.die. If it is greater, reach reduces it by one.
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

// die kills this process with SIGKILL, so that nothing is flushed. It does not return.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the calling goroutine must not run on until the signal arrives
}
