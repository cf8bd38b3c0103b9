package mcp_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// local is a server that runs as a process, with the file of its calls and its log.
type local struct {
	*mcp.Source
	t       *testing.T
	effects string
	log     *buffer
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startLocal(t *testing.T, change func(*mcp.Server)) *local {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	l := &local{t: t, effects: filepath.Join(t.TempDir(), "effects"), log: new(buffer)}
	server := mcp.Server{
		Name:    "local",
		Command: []string{binary},
		Env:     map[string]string{effectsFile: l.effects, "API_TOKEN": secret},
		Logger:  slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&server)
	}
	l.Source, err = mcp.Connect(t.Context(), server)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func (l *local) done() []string {
	data, err := os.ReadFile(l.effects)
	require.NoError(l.t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (l *local) count(effect string) (n int) {
	for _, line := range l.done() {
		if line == effect {
			n++
		}
	}
	return n
}

// pids returns the process IDs that the server recorded after the given word: "start" for its own, "child" and "daemon" for its
// children.
func (l *local) pids(word string) (pids []int) {
	for _, line := range l.done() {
		if text, ok := strings.CutPrefix(line, word+" "); ok {
			pid, err := strconv.Atoi(text)
			require.NoError(l.t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func (l *local) eventually(condition func() bool) {
	l.t.Helper()
	require.Eventually(l.t, condition, patience, 5*time.Millisecond)
}

func TestCallOverStdio(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	ctx := tool.WithInfo(t.Context(), tool.Info{Key: "tool-7"})
	got := <-start(ctx, find(t, l, "create"), `{"z": 9007199254740993, "a": "x"}`)
	require.NoError(t, got.err)
	require.JSONEq(t, `{"z": 9007199254740993, "a": "x"}`, got.res.Content)
	require.Contains(t, got.res.Content, "9007199254740993")
	require.Equal(t, 1, l.count("create tool-7"), "the key is seen at the server")
}

func TestServerSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("WORKER_SECRET", "do not pass on")
	l := startLocal(t, nil)
	got := <-start(t.Context(), find(t, l, "environ"), "")
	require.NoError(t, got.err)
	require.Contains(t, got.res.Content, "API_TOKEN="+secret)
	require.Contains(t, got.res.Content, "PATH=")
	require.NotContains(t, got.res.Content, "WORKER_SECRET")
}

func TestSecretsStayOutOfLogAndErrors(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	l.eventually(func() bool { return strings.Contains(l.log.String(), "server says hello") })
	require.NotContains(t, l.log.String(), secret)
	got := <-start(t.Context(), find(t, l, "fail"), "")
	require.NoError(t, got.err)
	require.Equal(t, tool.Result{Content: "token [hidden] is no good", IsError: true}, got.res)
}

// A call that was in flight when its server died may have run. It is not sent again, and its outcome is unknown. The next call
// starts a new server.
func TestServerKilledDuringACall(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	block, look := find(t, l, "block"), find(t, l, "look")
	done := start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), block, "")
	l.eventually(func() bool { return l.count("block k") == 1 })
	require.NoError(t, signal(l.pids("start")[0], kill))

	got := <-done
	require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.EqualError(t, got.err, "mcp server local: block: outcome unknown: the server ended during the call")

	// Several calls at once share one new server.
	var calls []<-chan called
	for range 5 {
		calls = append(calls, start(t.Context(), look, ""))
	}
	for _, c := range calls {
		got := <-c
		require.NoError(t, got.err)
		require.Equal(t, "seen", got.res.Content)
	}
	require.Len(t, l.pids("start"), 2)
	require.Equal(t, 1, l.count("block k"), "the lost call was not repeated")
}

func TestCallToADeadServerRunsOnANewOne(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	create := find(t, l, "create")
	require.NoError(t, signal(l.pids("start")[0], kill))
	l.eventually(func() bool { return gone(l.pids("start")[0]) })
	got := <-start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), create, "")
	require.NoError(t, got.err)
	require.Equal(t, 1, l.count("create k"))
	require.Len(t, l.pids("start"), 2)
}

func TestServerThatDoesNotStartAgainLeavesACallNotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := startLocal(t, func(s *mcp.Server) {
		copied := filepath.Join(dir, "server")
		data, err := os.ReadFile(s.Command[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied, data, 0o700))
		s.Command[0] = copied
	})
	create := find(t, l, "create")
	require.NoError(t, os.Remove(filepath.Join(dir, "server")))
	require.NoError(t, signal(l.pids("start")[0], kill))
	l.eventually(func() bool { return gone(l.pids("start")[0]) })
	got := <-start(t.Context(), create, "")
	require.ErrorContains(t, got.err, "create did not run")
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "server"), []byte("#!/bin/sh\necho 'no database' >&2\nexit 1\n"), 0o700))
	got = <-start(t.Context(), create, "")
	require.ErrorContains(t, got.err, "create did not run")
	require.ErrorContains(t, got.err, "no database", "the server says why it does not start")
	require.NotContains(t, got.err.Error(), "during the call")
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)
}

func TestCallThatOutlivesItsCallerIsUnknown(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	block := find(t, l, "block")
	ctx, cancel := context.WithCancel(tool.WithInfo(t.Context(), tool.Info{Key: "k"}))
	done := start(ctx, block, "")
	l.eventually(func() bool { return l.count("block k") == 1 })
	cancel()
	got := <-done
	require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.ErrorIs(t, got.err, context.Canceled)

	got = <-start(t.Context(), find(t, l, "look"), "")
	require.NoError(t, got.err, "the server goes on")
	require.Len(t, l.pids("start"), 1)

	got = <-start(ctx, block, "")
	require.ErrorIs(t, got.err, context.Canceled)
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown, "it was never sent")
}

func TestCallHasATimeout(t *testing.T) {
	t.Parallel()
	l := startLocal(t, func(s *mcp.Server) { s.Timeout = 100 * time.Millisecond })
	got := <-start(t.Context(), find(t, l, "block"), "")
	require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.ErrorContains(t, got.err, "no answer within 100ms")
}

// If a server does not read its stdin, the pipe fills up and the write blocks. The call must end with its context all the same.
func TestServerThatDoesNotReadDoesNotHoldACall(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	pid := l.pids("start")[0]
	require.NoError(t, signal(pid, suspend))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got := <-start(ctx, find(t, l, "create"), `{"a": "`+strings.Repeat("x", 200<<10)+`"}`)
	require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.ErrorIs(t, got.err, context.DeadlineExceeded)
	require.NoError(t, signal(pid, resume))

	got = <-start(t.Context(), find(t, l, "look"), "")
	require.NoError(t, got.err)
	require.Len(t, l.pids("start"), 2, "half a message ends the connection")
}

func TestAnswerThatIsTooLargeIsNotKept(t *testing.T) {
	t.Parallel()
	l := startLocal(t, nil)
	got := <-start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), find(t, l, "huge"), "")
	require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	got = <-start(t.Context(), find(t, l, "look"), "")
	require.NoError(t, got.err)
	require.Equal(t, 1, l.count("huge k"))
}
