package world

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// listed is an entry of what `starter list --json` prints.
type listed struct{ ID, Agent, Status, Parent string }

// List returns the states of the agents of this test in a list, by their IDs without the name of the test.
func (w *World) List(args ...string) map[string]string {
	var entries []listed
	require.NoError(w.T, json.Unmarshal([]byte(w.Must(append([]string{"list", "--json", "--limit", "0"}, args...)...)), &entries))
	ours := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.ID, w.T.Name()) {
			ours[strings.TrimPrefix(e.ID, w.T.Name()+"-")] = e.Status
		}
	}
	return ours
}

// Starter runs a starter command to its end.
func (w *World) Starter(args ...string) (stdout, stderr string, code int) {
	return w.StarterWith("", args...)
}

// StarterWith runs a starter command to its end, with a text as its standard input.
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

// Must runs a starter command that has to succeed.
func (w *World) Must(args ...string) string {
	out, errs, code := w.Starter(args...)
	require.Equal(w.T, 0, code, "starter %v: %s%s", args, out, errs)
	return out
}

// Listed returns the IDs of the agents of this test in a list, in the order of the list.
func (w *World) Listed(args ...string) (ids []string) {
	var entries []listed
	require.NoError(w.T, json.Unmarshal([]byte(w.Must(append([]string{"list", "--json", "--limit", "0"}, args...)...)), &entries))
	for _, e := range entries {
		if strings.HasPrefix(e.ID, w.T.Name()) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
