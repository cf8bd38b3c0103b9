package processgroup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// cgroupGrace limits how long the end of a group waits for processes that have got SIGKILL and have not gone yet.
const cgroupGrace = time.Second

// cgroup is the control group of one command. A child process begins in the control group of its parent, and stays there even if it
// leaves the process group, becomes a daemon or changes its environment. Only a process that may write to the control groups, such as one
// of root, can leave on purpose. If the worker cannot make a control group, the cgroup is nil, and its methods do nothing.
type cgroup struct {
	dir  string
	file *os.File // the open folder `dir`
}

// parentCgroup returns the folder of the worker's own control group (version 2). It returns "" if there is none.
var parentCgroup = sync.OnceValue(func() string {
	own, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	dir := cgroupFolder(string(own), string(mounts))
	if dir == "" {
		return ""
	}
	removeBelow(dir) // a worker that crashed leaves a folder
	return dir
})

// removeBelow removes the control groups of workers below a control group. It leaves those that still have processes.
func removeBelow(dir string) {
	below, _ := filepath.Glob(filepath.Join(dir, cgroupPrefix+"*")) // the pattern is well-formed, because dir has no metacharacters
	for _, each := range below {
		removeBelow(each) // a command may have been a worker itself
		_ = os.Remove(each)
	}
}

const cgroupPrefix = "reagent-"

// cgroupFolder returns the folder of a process's control group, for the content of its files /proc/self/cgroup and /proc/self/mountinfo.
func cgroupFolder(own, mounts string) string {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			path = rest
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		root, at := fields[3], fields[4]
		inside, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
		if ok && strings.HasPrefix(path, "/") && !strings.Contains(path, "..") && !strings.ContainsAny(at+path, `\*?[`) {
			return filepath.Join(at, inside)
		}
	}
	return ""
}

// newCgroup returns nil if the worker may not make a control group, or if the kernel cannot kill one (before Linux 5.14).
func newCgroup() *cgroup {
	parent := parentCgroup()
	if parent == "" {
		return nil
	}
	c := &cgroup{dir: filepath.Join(parent, cgroupPrefix+uuid.NewString())}
	if os.Mkdir(c.dir, 0o700) != nil {
		return nil
	}
	var err error
	if c.file, err = os.Open(c.dir); err == nil {
		_, err = os.Stat(filepath.Join(c.dir, "cgroup.kill"))
	}
	if err != nil {
		c.remove()
		return nil
	}
	return c
}

func (c *cgroup) hold(cmd *exec.Cmd) {
	if c != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.file.Fd())
	}
}

func (c *cgroup) end() {
	if c == nil {
		return
	}
	_ = os.WriteFile(filepath.Join(c.dir, "cgroup.kill"), []byte("1"), 0) // it is there: see [newCgroup]
	for until := time.Now().Add(cgroupGrace); time.Now().Before(until); time.Sleep(pollInterval) {
		events, err := os.ReadFile(filepath.Join(c.dir, "cgroup.events"))
		if err != nil || bytes.Contains(events, []byte("populated 0")) {
			break
		}
	}
	c.remove()
}

func (c *cgroup) remove() {
	if c != nil {
		c.file.Close()
		removeBelow(c.dir)
		_ = os.Remove(c.dir)
	}
}
