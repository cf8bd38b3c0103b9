package world

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// listed is an entry in the output of `starter list --json`.
type listed struct{ ID, Agent, Status, Parent string }

// List runs `starter list` with the given arguments. It returns the statuses of the listed agents of this test. The keys of the
// map are the agent IDs without the name of the test.
func (w *World) List(args ...string) map[string]string {
	entries := Objects[listed](w, append([]string{"list", "--json", "--limit", "0"}, args...)...)
	ours := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.ID, w.T.Name()) {
			ours[strings.TrimPrefix(e.ID, w.T.Name()+"-")] = e.Status
		}
	}
	return ours
}

// Starter runs the starter with the given arguments. It returns the output and the exit code.
func (w *World) Starter(args ...string) (stdout, stderr string, code int) {
	return w.StarterWith("", args...)
}

// StarterWith runs the starter as [World.Starter] does, with the text in the parameter stdin as standard input.
func (w *World) StarterWith(stdin string, args ...string) (stdout, stderr string, code int) {
	cmd := w.Command("starter", args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	require.NoError(w.T, cmd.Start())
	timer := time.AfterFunc(2*Patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Must runs the starter as [World.Starter] does, and asserts that the exit code is 0. It returns the standard output.
func (w *World) Must(args ...string) string {
	out, errs, code := w.Starter(args...)
	require.Equal(w.T, 0, code, "starter %v: %s%s", args, out, errs)
	return out
}

// Objects runs the starter with the given arguments, and asserts that the exit code is 0. It decodes each line of the output.
func Objects[T any](w *World, args ...string) []T {
	w.T.Helper()
	return Lines[T](w.T, w.Must(args...))
}

// Lines decodes each line of an output of the starter.
func Lines[T any](t require.TestingT, output string) (all []T) {
	for line := range strings.Lines(output) {
		var one T
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		all = append(all, one)
	}
	return all
}

// Listed runs `starter list` with the given arguments. It returns the IDs of the listed agents of this test, in the order of the
// output.
func (w *World) Listed(args ...string) (ids []string) {
	entries := Objects[listed](w, append([]string{"list", "--json", "--limit", "0"}, args...)...)
	for _, e := range entries {
		if strings.HasPrefix(e.ID, w.T.Name()) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
