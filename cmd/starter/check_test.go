package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// The exit code and the JSON of a check say the same, and a check needs no server.
func TestCheckEndsWithItsVerdict(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	dir := t.TempDir()
	path := filepath.Join(dir, "agents.yaml")
	write := func(tools string) {
		require.NoError(t, os.WriteFile(path, []byte(`models: {m: {model: x, base_url: "http://127.0.0.1:1/v1"}}
mcp_servers: {broken: {command: [sh, -c, "echo no database >&2; exit 3"]}}
agents:
  a: {model: m, tools: [`+tools+`]}
`), 0o600))
	}
	write("calculator")
	code, stdout, stderr := starter(t, "check", "--config", path)
	require.Equal(t, exit.OK, code, stderr)
	require.Equal(t, "No mistakes: 1 agent, 1 model, 0 MCP servers started\n", stdout)
	require.Empty(t, stderr)

	write("broken.*, calculater")
	code, stdout, stderr = starter(t, "check", "--config", path)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stdout, path+":2: mcp_servers.broken: list tools: connect: the server exited with code 3 before it answered; the server wrote: no database\n")
	require.Contains(t, stdout, path+`:4: agents.a.tools[1]: "calculater" is not one of the tools; did you mean "calculator"?`+"\n")
	require.Equal(t, "starter: the configuration has 2 mistakes\n", stderr)

	code, stdout, _ = starter(t, "check", "--config", path, "--json", "--no-mcp-servers", "--no-environment")
	require.Equal(t, exit.Usage, code)
	var report object.Check
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.False(t, report.OK)
	require.Equal(t, []object.Problem{{
		File: path, Line: 4, Field: "agents.a.tools[1]", Error: report.Problems[0].Error,
	}}, report.Problems)
	require.Equal(t, []object.Problem{{File: path, Line: 2, Field: "mcp_servers.broken", Error: "not started"}}, report.Unchecked)

	t.Setenv(session.ConfigEnv, "")
	t.Chdir(dir)
	require.NoError(t, os.Remove(path))
	code, _, stderr = starter(t, "check")
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, "there is no configuration file agents.yaml: name one with --config")
}

// Continuous integration sees all kinds of mistakes in one run, each with its line, as text and as JSON.
func TestCheckNamesSevenKindsOfMistakesAtOnce(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("MISSING", "")
	path := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`models:
  m: {model: x, base_url: "http://127.0.0.1:1/v1", api_key_env: MISSING}
mcp_servers:
  broken: {command: [sh, -c, exit 3]}
agents:
  a:
    model: m
    instruction: You help.
    limits: {model_calls: many}
    tools: [calculater, broken.*]
    agents: [researcher]
    approval: {default: "if args.amount >"}
`), 0o600))
	places := []string{
		"2: models.m.api_key_env", "4: mcp_servers.broken", "8: agents.a.instruction", "9: agents.a.limits.model_calls", "10: agents.a.tools[0]",
		"11: agents.a.agents[0]", "12: agents.a.approval.default",
	}
	code, stdout, stderr := starter(t, "check", "--config", path)
	require.Equal(t, exit.Usage, code)
	require.Equal(t, "starter: the configuration has 7 mistakes\n", stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, len(places), stdout)
	for i, place := range places {
		require.True(t, strings.HasPrefix(lines[i], path+":"+place+": "), "%s\n%s", place, lines[i])
	}
	require.Contains(t, lines[1], "exited with code 3")

	code, stdout, _ = starter(t, "check", "--config", path, "--json")
	require.Equal(t, exit.Usage, code)
	var report object.Check
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	var found []string
	for _, p := range report.Problems {
		found = append(found, fmt.Sprint(p.Line, ": ", p.Field))
	}
	require.Equal(t, places, found)
}

// What the command prints is the schema as it is stored.
func TestSchemaIsPrinted(t *testing.T) {
	code, stdout, _ := starter(t, "schema")
	require.Equal(t, exit.OK, code)
	stored, err := os.ReadFile("../../config/testdata/schema.json")
	require.NoError(t, err)
	require.JSONEq(t, string(stored), stdout)
}
