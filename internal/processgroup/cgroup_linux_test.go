package processgroup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCgroupOfAProcessIsFound(t *testing.T) {
	//nolint:dupword // as Linux writes them
	const unified = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	//nolint:dupword // as Linux writes them
	const tmpfs = "31 25 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	for _, c := range []struct{ own, mounts, want string }{
		{"0::/\n", tmpfs + unified, "/sys/fs/cgroup/unified"},
		{"9:name=systemd:/x\n0::/system.slice/worker.service\n", unified, "/sys/fs/cgroup/unified/system.slice/worker.service"},
		{"0::/docker/1a/work\n", "41 31 0:38 /docker/1a /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup/work"},
		{"0::/../other\n", unified, ""},
		{"0::/other\n", "41 31 0:38 /docker/1a /sys/fs/cgroup ro - cgroup2 cgroup rw\n", ""},
		{"0::/\n", tmpfs, ""},
		{"9:cpu:/\n", unified, ""},
		{"", "", ""},
		{"0::/a\n", `41 31 0:38 / /sys/fs/c\040group rw - cgroup2 cgroup2 rw`, ""}, //nolint:dupword // as Linux writes it
	} {
		require.Equal(t, c.want, cgroupFolder(c.own, c.mounts), c)
	}
}

// A process that has left the process group, its parent and its environment is killed at the end of the command, where the worker can make
// control groups. No control group is left.
func TestAttackProcessThatLeftEverythingIsKilled(t *testing.T) {
	probe := newCgroup()
	if probe == nil {
		t.Skip("this process cannot make control groups (version 2)")
	}
	probe.remove()
	dir := t.TempDir()
	file := filepath.Join(dir, "pid")
	script := `(setsid env -i /bin/sh -c '(setsid /bin/sh -c "echo \$\$ >pid.new; mv pid.new pid; exec sleep 1000" </dev/null >/dev/null 2>&1 &)' &)
while ! [ -s pid ]; do :; done`
	for _, end := range []string{"", "; exit 3", "; kill -9 $$", "; exec sleep 1000"} {
		require.NoError(t, os.RemoveAll(file))
		cmd := exec.Command("/bin/sh", "-c", script+end)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		group, err := Start(cmd)
		require.NoError(t, err)
		if strings.Contains(end, "sleep") {
			require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, 20*time.Second, pollInterval)
			group.Kill()
		}
		_ = group.Wait()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return ended(pid) }, 10*time.Second, pollInterval, end)
	}
	left, err := filepath.Glob(filepath.Join(parentCgroup(), cgroupPrefix+"*"))
	require.NoError(t, err)
	for _, each := range left { // another process may make some at the same time
		events, err := os.ReadFile(filepath.Join(each, "cgroup.events")) // it also counts the groups below
		require.True(t, err != nil || bytes.Contains(events, []byte("populated 1")), each)
	}
}

// ended reports whether a process is gone, or has exited and nobody has waited for it.
func ended(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ") || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// A command starts also if the kernel does not let it into the control group.
func TestCommandStartsWithoutAControlGroup(t *testing.T) {
	gone := newCgroup()
	if gone == nil {
		t.Skip("this process cannot make control groups (version 2)")
	}
	require.NoError(t, os.Remove(gone.dir))
	cmd := exec.Command("/bin/sh", "-c", "exit 3")
	started, left, err := startIn(gone, cmd)
	require.NoError(t, err)
	require.Nil(t, left)
	ended, ok := errors.AsType[*exec.ExitError](started.Wait())
	require.True(t, ok)
	require.Equal(t, 3, ended.ExitCode())

	_, _, err = startIn(newCgroup(), exec.Command("/no/such/program"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
