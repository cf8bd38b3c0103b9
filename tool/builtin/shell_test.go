//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// shellKit returns the built-in tools with a shell in a new folder, and the path of the folder.
func shellKit(t *testing.T, o builtin.Shell) (kit, string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	o.Folder = folder
	return newKit(t, builtin.Options{Shell: &o}), folder
}

// gone reports whether a process has ended. In a container without an init process, an orphan stays as a zombie.
func gone(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
}

// pidIn waits until a command has written the ID of a process to a file, and returns the ID.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(file)
		var err error
		pid, err = strconv.Atoi(strings.TrimSuffix(string(data), "\n"))
		return err == nil && strings.HasSuffix(string(data), "\n")
	}, 10*time.Second, time.Millisecond)
	return pid
}

func TestShellExistsOnlyIfItIsConfigured(t *testing.T) {
	require.NotContains(t, newKit(t, builtin.Options{Root: t.TempDir()}).tools, "shell")
	k, _ := shellKit(t, builtin.Shell{})
	require.Contains(t, k.tools, "shell")
	require.Contains(t, k.tools["shell"].Spec().Description, "A command may take 2m0s at most.")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, folder := range []string{"", file, file + "none"} {
		_, err := builtin.Tools(builtin.Options{Shell: &builtin.Shell{Folder: folder}})
		require.ErrorContains(t, err, "the working folder of the tool shell cannot be used", folder)
	}
}

func TestShellTellsOutputAndHowTheCommandEnded(t *testing.T) {
	k, folder := shellKit(t, builtin.Shell{})
	for command, want := range map[string]string{
		"echo a; echo b >&2; echo c":         "a\nb\nc\n[exit code 0]\n",
		"printf a":                           "a\n[exit code 0]\n",
		"true":                               "[no output]\n[exit code 0]\n",
		"cat":                                "[no output]\n[exit code 0]\n", // stdin is empty
		"pwd":                                folder + "\n[exit code 0]\n",
		"echo 'it''s'; exit 3":               "its\n[exit code 3]\n",
		"no-such-program-at-all 2>/dev/null": "[no output]\n[exit code 127]\n",
		"kill -9 $$":                         "[no output]\n[signal: killed]\n",
		`printf 'a\377\376b\0c'`:             "a\uFFFDb\x00c\n[exit code 0]\n",
	} {
		res := k.run("shell", map[string]any{"command": command})
		require.Equal(t, want, res.Content, command)
		require.Equal(t, !strings.HasSuffix(want, "[exit code 0]\n"), res.IsError, command)
	}
	require.Contains(t, k.fails("shell", map[string]any{"command": " \n"}), "the command is empty")
	require.Contains(t, k.fails("shell", map[string]any{"command": "true " + strings.Repeat("x", 1<<20)}), "the command was not started")
	require.Contains(t, k.fails("shell", map[string]any{"command": "a\x00b"}), "the command was not started")
	require.NoError(t, os.Remove(folder))
	require.Contains(t, k.fails("shell", map[string]any{"command": "true"}), "the command was not started")
}

// A command shows its variables to the model, so it gets none of the worker's secrets.
func TestAttackCommandDoesNotSeeTheEnvironmentOfTheWorker(t *testing.T) {
	t.Setenv("SECRET_OF_THE_WORKER", "sk-top-secret")
	t.Setenv("LANG", "de_DE.UTF-8")
	k, _ := shellKit(t, builtin.Shell{Env: map[string]string{"GIVEN": "yes", "USER": "somebody else"}})
	out := k.ok("shell", map[string]any{"command": "env"})
	require.NotContains(t, out, "sk-top-secret")
	var names []string
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(line, "="); ok {
			names = append(names, name)
		}
	}
	allowed := []string{"GIVEN", "HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "REAGENT_PROCESS_GROUP", "PWD", "OLDPWD", "SHLVL", "_"} // the last four are the shell's
	require.Empty(t, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(allowed, name) }))
	for _, line := range []string{"GIVEN=yes\n", "USER=somebody else\n", "LANG=de_DE.UTF-8\n", "PATH="} {
		require.Contains(t, out, line)
	}
}

func TestTimeLimitEndsAllProcessesOfTheCommand(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		args    map[string]any
	}{
		"of the configuration":     {2 * time.Second, map[string]any{}},
		"of the call":              {time.Hour, map[string]any{"timeout": 2}},
		"of the call, too long":    {2 * time.Second, map[string]any{"timeout": 1 << 62}},
		"of the call, without use": {2 * time.Second, map[string]any{"timeout": -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, folder := shellKit(t, builtin.Shell{Timeout: c.timeout})
			// The processes keep stdout open.
			c.args["command"] = "echo started; sh -c 'sleep 1000 & echo $! >pid; wait' & wait"
			require.Equal(t, "started\n[the command was ended after 2s, its time limit; it may have done a part of its work]\n", k.fails("shell", c.args))
			require.True(t, gone(pidIn(t, filepath.Join(folder, "pid"))))
		})
	}
}

// A command that has ended leaves nothing behind, also if another process still has the pipe.
func TestProcessesInTheBackgroundEndWithTheCommand(t *testing.T) {
	commands := map[string]string{"in the group": "sleep 1000 & echo $! >pid; echo done"}
	if runtime.GOOS == "linux" {
		commands["has left the group"] = "setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do :; done; echo done"
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			k, folder := shellKit(t, builtin.Shell{})
			require.Equal(t, "done\n[exit code 0]\n", k.ok("shell", map[string]any{"command": command}))
			pid := pidIn(t, filepath.Join(folder, "pid"))
			require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, time.Millisecond)
		})
	}
}

func TestCancelEndsAllProcessesAndTheOutcomeIsUnknown(t *testing.T) {
	for name, command := range map[string]string{
		"willing":     "sh -c 'sleep 1000 & echo $! >pid; wait' & wait",
		"stubborn":    "trap '' TERM; sh -c 'echo $$ >pid; while :; do sleep 1000; done' & wait",
		"cleaning":    `sh -c 'trap "sleep 0.1; echo >cleaned; exit" TERM; echo $$ >pid; while :; do sleep 0.01; done' & wait`,
		"still there": "sh -c 'echo $$ >pid; kill -STOP $$' & wait", // a stopped process gets SIGTERM only when it continues
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, folder := shellKit(t, builtin.Shell{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				args, _ := json.Marshal(map[string]any{"command": command})
				_, err := tool.Run(ctx, k.tools["shell"], string(args))
				done <- err
			}()
			pid := pidIn(t, filepath.Join(folder, "pid"))
			require.False(t, gone(pid))
			cancel()
			err := <-done
			require.ErrorIs(t, err, tool.ErrOutcomeUnknown)
			require.ErrorIs(t, err, context.Canceled)
			require.Contains(t, err.Error(), "the command was ended before it was done")
			require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, time.Millisecond)
			if name == "cleaning" {
				require.FileExists(t, filepath.Join(folder, "cleaned"), "a process has time to clean up after SIGTERM, also if the shell has ended")
			}
		})
	}
}

func TestCancelledCallStartsNoCommand(t *testing.T) {
	k, folder := shellKit(t, builtin.Shell{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tool.Run(ctx, k.tools["shell"], `{"command":"echo >file"}`)
	require.ErrorIs(t, err, tool.ErrNotRun)
	require.Empty(t, files(t, folder))
}

func TestLongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	k, _ := shellKit(t, builtin.Shell{})
	out := k.ok("shell", map[string]any{"command": "echo begin; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end"})
	require.Less(t, len(out), 257<<10)
	require.True(t, strings.HasPrefix(out, "begin\nxxx"))
	require.True(t, strings.HasSuffix(out, "xxx\nend\n[exit code 0]\n"))
	require.Regexp(t, `xx\n\[737\d{3} bytes of the output are left out here\]\nxx`, out)
}

// People see what a command has written so far while it runs: stdout and stderr, as the model gets them at the end.
func TestShellShowsItsOutputWhileTheCommandRuns(t *testing.T) {
	k, folder := shellKit(t, builtin.Shell{})
	var mu sync.Mutex
	shown := ""
	ctx := tool.WithInfo(t.Context(), tool.Info{Progress: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		shown += text
	}})
	seen := func() string {
		mu.Lock()
		defer mu.Unlock()
		return shown
	}
	done := make(chan tool.Result, 1)
	go func() {
		result, _ := tool.Run(ctx, k.tools["shell"], `{"command":"echo one; printf two >&2; until [ -e go ]; do sleep 0.01; done; echo three"}`)
		done <- result
	}()
	require.Eventually(t, func() bool { return seen() == "one\ntwo" }, 10*time.Second, time.Millisecond)
	require.Empty(t, done)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
	require.Equal(t, tool.Result{Content: "one\ntwothree\n[exit code 0]\n"}, <-done)
	require.Equal(t, "one\ntwothree\n", seen())
}
