package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
)

// toolServer is the name of an environment variable. If it is set, this test binary runs as an MCP server with the tools search and read. The
// value is the path of a file that the server writes when it starts.
const toolServer = "REAGENT_TEST_TOOL_SERVER"

func TestMain(m *testing.M) {
	if path := os.Getenv(toolServer); path != "" {
		serveTools(path)
		return
	}
	os.Exit(m.Run())
}

func serveTools(path string) {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		panic(err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"search", "read"} {
		sdk.AddTool(server, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	_ = server.Run(context.Background(), &sdk.StdioTransport{}) // ends when stdin is closed
}

// checked checks a configuration in a folder of its own. In the text, SERVER is the command of an MCP server with the tools search and read.
func checked(t *testing.T, o CheckOptions, text string) (report Report, started bool) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	o.Config = filepath.Join(dir, "agents.yaml")
	mark := filepath.Join(t.TempDir(), "started")
	text = strings.ReplaceAll(text, "SERVER", fmt.Sprintf("command: [%q], env: {%s: %q}", self, toolServer, mark))
	require.NoError(t, os.WriteFile(o.Config, []byte(text), 0o600))
	var log bytes.Buffer
	report, err = Check(t.Context(), o, &log)
	require.NoError(t, err)
	require.Equal(t, len(report.Problems) == 0, report.OK)
	for _, problems := range [][]config.Problem{report.Problems, report.Unchecked} {
		for i := range problems {
			require.Equal(t, o.Config, problems[i].File)
			problems[i].File = "agents.yaml"
		}
	}
	_, err = os.Stat(mark)
	return report, err == nil
}

func texts(problems []config.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

const models = "models: {m: {model: x, base_url: \"http://127.0.0.1:1/v1\"}}\n"

func TestConfigurationWithoutMistakesIsChecked(t *testing.T) {
	report, started := checked(t, CheckOptions{}, models+`
mcp_servers:
  notes: {SERVER}
  unused: {command: [/no/such/program]}
agents:
  a: {model: m, tools: [notes.*, calculator], agents: [b], approval: {notes.read: always}}
  b: {model: m, tools: [notes.search]}
`)
	require.Equal(t, Report{OK: true, Problems: []config.Problem{}, Unchecked: []config.Problem{}, Agents: 2, Models: 1, MCPServers: 1}, report)
	require.True(t, started)
}

// All that stops a worker is named at once: what the file alone shows, what the environment lacks, and what only the MCP servers know.
func TestCheckNamesEveryMistake(t *testing.T) {
	t.Setenv("MISSING", "")
	require.NoError(t, os.Unsetenv("MISSING"))
	report, started := checked(t, CheckOptions{}, models+`
mcp_servers:
  notes: {SERVER}
  broken:
    command: [sh, -c, "echo starting >&2; echo 'no database' >&2; exit 3"]
  keyed: {command: [/no/such/program], env: {KEY: "${MISSING}"}}
agents:
  a:
    model: m
    tools:
      - askuser
      - broken.*
      - notes.reed
      - notes.search
      - keyed.x
    approval:
      broken.x: always
      askuser: always
    agents: [search]
  search: {model: m, tools: [notes.erase], approval: {notes.erase: always}}
  c: {model: m, tools: [notes.*], approval: {notes.serach: never}, guardrails: {answers: [notes.read]}}
`)
	require.True(t, started)
	require.Equal(t, []string{
		`agents.yaml:5: mcp_servers.broken: list tools: connect: the server exited with code 3 before it answered; the server wrote: starting no database`,
		`agents.yaml:7: mcp_servers.keyed.env.KEY: the environment variable MISSING is not set; set it in the environment of the worker`,
		`agents.yaml:12: agents.a.tools[0]: "askuser" is not one of the tools; did you mean "ask_user"?`,
		`agents.yaml:14: agents.a.tools[2]: unknown tool "notes.reed": did you mean "notes.read"? (the known tools are ask_user, broken.*, calculator, current_time, edit_file, http_get, list_files, notes.*, notes.read, notes.search, read_file, read_result, search_files, write_file)`,
		`agents.yaml:20: agents.a.agents[0]: the sub-agent search has the name of a tool; rename one of them`,
		`agents.yaml:21: agents.search.tools[0]: unknown tool "notes.erase": did you mean "notes.read"? (the known tools are ask_user, broken.*, calculator, current_time, edit_file, http_get, list_files, notes.*, notes.read, notes.search, read_file, read_result, search_files, write_file)`,
		`agents.yaml:22: agents.c.guardrails.answers[0]: "notes.read" cannot be a guardrail: it takes no argument "kind", and a guardrail gets kind and text; add the argument as a string`,
		`agents.yaml:22: agents.c.approval.notes.serach: matches no tool or sub-agent of this agent: correct the name, or remove it`,
	}, texts(report.Problems))
	require.Equal(t, []string{`agents.yaml:7: mcp_servers.keyed: not started: the environment variable MISSING is not set; set it in the environment of the worker`}, texts(report.Unchecked))
}

// Continuous integration has no keys, and perhaps no programs of MCP servers. What cannot be checked there is no mistake, and is named.
func TestCheckLeavesOutWhatIsNotThere(t *testing.T) {
	t.Setenv("MISSING", "")
	require.NoError(t, os.Unsetenv("MISSING"))
	text := `
models: {m: {model: x, api_key_env: MISSING}}
mcp_servers:
  notes: {SERVER}
  keyed: {url: "http://127.0.0.1:1/mcp", headers: {Authorization: "Bearer ${MISSING}"}}
  program: {url: "http://127.0.0.1:1/mcp", api_key_command: [/no/such/program]}
  secure: {url: "http://127.0.0.1:1/mcp", tls_ca_file: none.pem}
notify: {pager: {url: "https://example.com/${MISSING}"}}
callbacks: {url: "https://example.com/callbacks", secret: "${MISSING}"}
builtin: {shell: {env: [MISSING]}}
agents:
  a: {model: m, tools: [notes.%s, keyed.*, program.x, secure.y, shell], approval: {keyed.z: never, program.x: always, shell: always}}
`
	report, started := checked(t, CheckOptions{NoEnvironment: true}, fmt.Sprintf(text, "reed"))
	require.True(t, started)
	require.Len(t, report.Problems, 1)
	require.Contains(t, report.Problems[0].String(), `agents.yaml:12: agents.a.tools[0]: unknown tool "notes.reed": did you mean "notes.read"?`)
	require.Subset(t, texts(report.Unchecked), []string{
		"agents.yaml:2: models.m.api_key_env: left out: the environment variable MISSING is empty or not set; it must contain the API key; set it in the environment of the worker, or leave out api_key_env for an endpoint that needs no key",
		"agents.yaml:5: mcp_servers.keyed: not started: the environment variable MISSING is not set; set it in the environment of the worker",
		"agents.yaml:6: mcp_servers.program: not started: exec: \"/no/such/program\": stat /no/such/program: no such file or directory; install the program, or write its path",
	})
	require.Contains(t, strings.Join(texts(report.Unchecked), "\n"), "agents.yaml:7: mcp_servers.secure: not started: open ")

	report, started = checked(t, CheckOptions{NoEnvironment: true, NoMCPServers: true}, fmt.Sprintf(text, "reed"))
	require.False(t, started)
	require.True(t, report.OK, "%v", report.Problems)
	var left []string
	for _, p := range report.Unchecked {
		left = append(left, p.Field)
	}
	require.Equal(t, []string{
		"models.m.api_key_env", "mcp_servers.notes", "mcp_servers.keyed", "mcp_servers.keyed.headers.Authorization", "mcp_servers.program",
		"mcp_servers.program.api_key_command", "mcp_servers.secure", "mcp_servers.secure.tls_ca_file", "notify.pager.url", "callbacks.secret",
		"builtin.shell.env[0]",
	}, left)

	report, _ = checked(t, CheckOptions{NoMCPServers: true}, fmt.Sprintf(text, "*"))
	for _, field := range []string{
		"models.m.api_key_env", "mcp_servers.keyed.headers.Authorization", "mcp_servers.program.api_key_command", "mcp_servers.secure.tls_ca_file",
		"notify.pager.url", "callbacks.secret", "builtin.shell.env[0]",
	} {
		require.Contains(t, strings.Join(texts(report.Problems), "\n"), ": "+field+": ")
	}
	require.Len(t, report.Problems, 7, "each is named once")
}

// A missing folder is one mistake, and not one for each tool of the files.
func TestMissingFolderIsOneMistake(t *testing.T) {
	report, _ := checked(t, CheckOptions{}, models+"builtin: {files_root: none}\nagents: {a: {model: m, tools: [read_file, calculator], approval: {read_file: always}}}\n")
	require.Len(t, report.Problems, 1)
	require.Equal(t, "builtin.files_root", report.Problems[0].Field)
	require.Equal(t, 2, report.Problems[0].Line)
}

// A worker that an authorization server refuses, and a program that is missing, are named, and no secret is.
func TestTokensThatCannotBeHadAreNamed(t *testing.T) {
	t.Setenv("ORDERS_SECRET", "wr0ng-secret-of-the-worker")
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
	}))
	t.Cleanup(login.Close)
	report, _ := checked(t, CheckOptions{}, models+fmt.Sprintf(`mcp_servers:
  orders: {url: %q, oauth: {client_id: worker, client_secret: "${ORDERS_SECRET}", token_url: %q}}
  none: {url: %q, oauth: {client_id: worker, client_secret: "${MISSING_SECRET}", token_url: %q}, caller_oauth: {client_id: worker, client_secret: "${NO_SECRET}", token_url: %q, audience: none}}
caller_tokens: {command: [/no/such/program]}
agents: {a: {model: m, tools: [orders.*, none.*]}}
`, login.URL+"/mcp", login.URL+"/token", login.URL+"/mcp", login.URL+"/token", login.URL+"/token"))
	text := strings.Join(texts(report.Problems), "\n")
	require.Contains(t, text, "mcp_servers.orders: list tools: OAuth: "+login.URL+`/token refused the client "worker": invalid_client (HTTP 401); correct client_id, client_secret, scopes or resource of the MCP server`)
	require.Contains(t, text, "mcp_servers.none.oauth: client_secret: the environment variable MISSING_SECRET is not set")
	require.Contains(t, text, "mcp_servers.none.caller_oauth: client_secret: the environment variable NO_SECRET is not set")
	require.Contains(t, text, "caller_tokens.command: ")
	require.NotContains(t, text, "check that the server is running")
	require.NotContains(t, text, "wr0ng")
}

// Each kind of mistake is named in one run, with its line, also if it is in a part of the file that has another. Whatever could not be checked
// because of one of them is named apart.
func TestMistakesDoNotHideEachOther(t *testing.T) {
	t.Setenv("MISSING", "")
	require.NoError(t, os.Unsetenv("MISSING"))
	report, started := checked(t, CheckOptions{}, `
models:
  m: {model: x, base_url: "http://127.0.0.1:1/v1", api_key_env: MISSING, temprature: 1}
mcp_servers:
  broken: {command: [sh, -c, exit 3]}
  notes: {SERVER}
  late: {command: [/no/such/program], timeout: soon}
agents:
  a:
    model: m
    tools: [calculater, broken.*, notes.reed, notes.read, late.x]
    agents: [aa, bb]
    limits: {time: 5}
    approval: {calculater: always, notes.read: "if args.amount >", notes.raed: never, aa: always, late.x: never}
  b: {model: m}
`)
	require.True(t, started)
	var places []string
	for _, p := range report.Problems {
		places = append(places, fmt.Sprint(p.Line, " ", p.Field))
	}
	require.Equal(t, []string{
		"3 models.m.temprature",
		"3 models.m.api_key_env",
		"5 mcp_servers.broken",
		"7 mcp_servers.late.timeout",
		"11 agents.a.tools[0]",
		"11 agents.a.tools[2]",
		"12 agents.a.agents[0]",
		"12 agents.a.agents[1]",
		"13 agents.a.limits.time",
		"14 agents.a.approval.notes.read",
		"14 agents.a.approval.notes.raed",
	}, places)
	text := strings.Join(texts(report.Problems), "\n")
	require.Contains(t, text, "exited with code 3")
	require.Contains(t, text, `"aa" is not one of the agents; write one of: b`, "and not the agent itself")
	require.Equal(t, []string{
		"agents.yaml:3: models.m: not checked further, because of the mistake in models.m.temprature",
		"agents.yaml:7: mcp_servers.late: not started, because of the mistake in mcp_servers.late.timeout",
	}, texts(report.Unchecked))
	require.Equal(t, 2, report.Agents)
	require.Equal(t, 1, report.MCPServers, "broken has not started")
}

// Whatever the reader refuses, the check goes on, and names each mistake once.
func TestCheckGoesOnAfterEveryKindOfMistake(t *testing.T) {
	files, err := filepath.Glob("../../../config/testdata/invalid/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := config.Load(file)
			refused, ok := errors.AsType[*config.Error](err)
			require.True(t, ok)
			report, err := Check(t.Context(), CheckOptions{Config: file, NoMCPServers: true, NoEnvironment: true}, io.Discard)
			require.NoError(t, err)
			found := texts(report.Problems)
			for _, p := range refused.Problems {
				require.Equal(t, 1, strings.Count(strings.Join(found, "\n")+"\n", p.String()+"\n"), "%s in %s", p, strings.Join(found, "\n"))
			}
			for _, p := range report.Problems {
				if p.Field != "" && !slices.Contains(refused.Problems, p) {
					require.False(t, slices.ContainsFunc(refused.Problems, func(r config.Problem) bool { return r.Field == p.Field }), "%s follows from another", p)
				}
			}
		})
	}
}

// A section that cannot be read is one mistake, and not one for each name that stands in it.
func TestUnreadableSectionIsOneMistake(t *testing.T) {
	report, _ := checked(t, CheckOptions{}, `
models: [m]
mcp_servers: none
external: 3
builtin: all
agents: {a: {model: m, fallback: [n], tools: [notes.*, own, shell], approval: {notes.x: always, own: never}, limits: {cost: 1}}}
`)
	require.Equal(t, []string{
		"agents.yaml:2: models: must be a mapping of keys to values, not a list",
		"agents.yaml:3: mcp_servers: must be a mapping of keys to values, not a text",
		"agents.yaml:4: external: must be a mapping of keys to values, not a number",
		"agents.yaml:5: builtin: must be a mapping of keys to values, not a text",
	}, texts(report.Problems))
	require.Len(t, report.Unchecked, 4)

	report, _ = checked(t, CheckOptions{}, "a: [")
	require.Len(t, report.Problems, 1)
	require.Len(t, report.Unchecked, 1)
}

// What the reader refuses comes as text and as JSON.
func TestCheckNamesWhatTheReaderRefuses(t *testing.T) {
	report, _ := checked(t, CheckOptions{}, "agents: {a: {modle: m, limits: {time: 1}}}\n")
	require.Len(t, report.Problems, 3)
	var text bytes.Buffer
	require.NoError(t, report.Write(&text, false))
	require.Equal(t, 3, strings.Count(text.String(), "agents.yaml:1: agents.a"))
	text.Reset()
	require.NoError(t, report.Write(&text, true))
	require.JSONEq(t, `{"type":"check","ok":false,"agent_count":1,"model_count":0,"mcp_server_count":0,"unchecked":[],"problems":[
		{"file":"agents.yaml","line":1,"field":"agents.a.modle","error":"unknown key; did you mean \"model\"?"},
		{"file":"agents.yaml","line":1,"field":"agents.a.limits.time","error":"1 is not a duration; write 90s, 10m or 1h"},
		{"file":"agents.yaml","line":1,"field":"agents.a.model","error":"missing; name one of the models"}]}`, text.String())
}

// A check that is stopped ends its servers, and says nothing about the configuration.
func TestStoppedCheckIsNoVerdict(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte(models+"mcp_servers: {slow: {command: [sleep, \"1000\"]}}\nagents: {a: {model: m, tools: [slow.*]}}\n"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	stderr := writerFunc(func(b []byte) {
		if strings.HasPrefix(string(b), "Starting the MCP servers: slow\n") {
			cancel()
		}
	})
	_, err := Check(ctx, CheckOptions{Config: path}, stderr)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Check(t.Context(), CheckOptions{Config: filepath.Join(dir, "none.yaml")}, stderr)
	require.ErrorContains(t, err, "there is no configuration file")
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// A worker that cannot start says where the mistake is, as the check does.
func TestStartNamesThePlaceOfAMistake(t *testing.T) {
	cfg, err := config.Parse("agents.yaml", []byte(models+"mcp_servers:\n  broken: {command: [sh, -c, exit 4]}\nagents:\n  a: {model: m, tools: [broken.*]}\n"))
	require.NoError(t, err)
	options, err := agentOptions(cfg, Options{Stateful: "all"})
	require.NoError(t, err)
	c := checker{cfg: cfg, stderr: &bytes.Buffer{}}
	require.NoError(t, c.define(t.Context(), options))
	require.Equal(t, []string{`agents.yaml:3: mcp_servers.broken: list tools: connect: the server exited with code 4 before it answered: check that "sh" is installed and that the server's command is right`}, texts(c.problems))
}
