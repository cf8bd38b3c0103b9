package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

var update = flag.Bool("update", false, "write what the clients print to testdata/clients")

// clientShop is the shop with more answers: to "hang", the model never answers, to "wait", it calls a tool that waits for the gate, and it
// does what the scan asks of a model.
func clientShop(ctx context.Context, req llm.Request) (llm.Reply, error) {
	switch last := req.Messages[len(req.Messages)-1]; {
	case last.Role != llm.User:
	case last.Content == "hang":
		<-ctx.Done()
		return llm.Reply{}, context.Cause(ctx)
	case strings.HasPrefix(last.Content, "wait"):
		return llmtest.Call(llmtest.ToolCall("1", "wait", `{}`)), nil
	case strings.HasPrefix(last.Content, "Call the provided tool"):
		return llmtest.Call(llmtest.ToolCall("1", "compatcanary_echo", `{"value":"CANARY_OK"}`)), nil
	case strings.HasPrefix(last.Content, "Return the requested compatibility status"):
		return llmtest.Say(`{"status":"ok"}`), nil
	}
	return shop(ctx, req)
}

// newClientShop returns the world of the clients, and the URL that opens the gate of the tool wait.
func newClientShop(t *testing.T) (w *world.World, gateURL string) {
	gate := world.NewGate()
	open := sync.OnceFunc(func() { close(gate.Open) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { open() }))
	t.Cleanup(server.Close)
	t.Cleanup(open)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	tools.Add("look", nil, world.Echo)
	tools.Add("wait", nil, func(ctx context.Context, e world.Effect) (string, error) {
		if err := gate.Pass(ctx); err != nil {
			return "", err
		}
		return world.Echo(ctx, e)
	})
	w = world.New(t, clientShop, tools, "    tools: [far.*]\n    approval: {default: never, far.pay: always}\n")
	w.Worker()
	return w, server.URL
}

const (
	// installTime limits the installation of the clients, and clientTime the run of one client.
	installTime = 2 * time.Minute
	clientTime  = time.Minute
)

// clientsInstalled returns the folder with the client libraries of testdata/clients. npm installs them once for each lock file. The test is
// skipped where there is no Node.js of version 20 or later, or no registry.
func clientsInstalled(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program + " on this machine, so no client of others can run")
		}
	}
	if err := exec.CommandContext(t.Context(), "node", "-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)").Run(); err != nil {
		t.Skip("the client libraries need Node.js 20 or later")
	}
	from := filepath.Join("testdata", "clients")
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	hash := sha256.Sum256(lock)
	folder := filepath.Join(cache, "reagent", "clients-"+hex.EncodeToString(hash[:8]))
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(folder), 0o700))
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "clients-new-") //nolint:usetesting // it becomes the folder, in the same file system
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(fresh) })
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(fresh, name), data, 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	install.Dir, install.WaitDelay = fresh, time.Second
	output, err := install.CombinedOutput()
	if err != nil && strings.Contains(string(output), "EUSAGE") { // the two files do not fit together
		require.NoError(t, err, string(output))
	}
	if err != nil {
		t.Skipf("npm could not install the client libraries (%v):\n%s", err, output)
	}
	if err := os.Rename(fresh, folder); err != nil { // another test has been faster
		require.DirExists(t, folder)
	}
	return folder
}

// node runs a program with the client libraries, and returns what it has printed.
func (s *served) node(folder, gateURL, program string, args ...string) (stdout string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(folder, program)}, args...)...)
	cmd.Dir, cmd.WaitDelay = folder, time.Second
	cmd.Env = append(os.Environ(), "BASE_URL="+s.url, "GATE_URL="+gateURL, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "NODE_NO_WARNINGS=1")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if errs.Len() > 0 {
		s.t.Logf("%s: %s", program, errs.String())
	}
	return out.String(), err
}

// script runs a script of testdata/clients, and compares the lines that it prints with a file.
func (s *served) script(folder, gateURL, name string) {
	s.t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "clients", name+".mjs"))
	require.NoError(s.t, err)
	// Node.js looks for libraries from the place of the script upwards.
	copied, err := os.CreateTemp(folder, name+"-*.mjs")
	require.NoError(s.t, err)
	defer os.Remove(copied.Name())
	_, err = copied.Write(source)
	require.NoError(s.t, err)
	require.NoError(s.t, copied.Close())
	output, err := s.node(folder, gateURL, filepath.Base(copied.Name()))
	require.NoError(s.t, err, output)
	file := filepath.Join("testdata", "clients", name+".jsonl")
	if *update {
		require.NoError(s.t, os.WriteFile(file, []byte(output), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(s.t, err)
	got, expected := strings.Split(strings.TrimSpace(output), "\n"), strings.Split(strings.TrimSpace(string(want)), "\n")
	for i := range min(len(got), len(expected)) {
		require.JSONEq(s.t, expected[i], got[i])
	}
	require.Len(s.t, got, len(expected), output)
}

// The libraries of others are the judges: what they make of the answers is what their users see.
func TestClients(t *testing.T) {
	folder := clientsInstalled(t)
	w, gateURL := newClientShop(t)
	s := serve(w)
	for _, name := range []string{"openai", "ai"} {
		t.Run(name, func(t *testing.T) {
			own := *s
			own.t = t
			own.script(folder, gateURL, name)
		})
	}
	t.Run("compatcanary", func(t *testing.T) {
		own := *s
		own.t = t
		output, err := own.node(folder, gateURL, filepath.Join("node_modules", "compatcanary", "src", "cli.js"),
			"scan", "--base-url", s.url, "--model", "x", "--profile", "modern", "--format", "json")
		require.NoError(t, err, output)
		var report struct {
			Summary struct{ Passes, Total int }
			Results []struct{ ID, Status, Summary string }
		}
		require.NoError(t, json.Unmarshal([]byte(output), &report), output)
		for _, r := range report.Results {
			require.Equal(t, "pass", r.Status, r.ID+": "+r.Summary)
		}
		require.NotEmpty(t, report.Results)
	})
	w.NothingTwice()
}
