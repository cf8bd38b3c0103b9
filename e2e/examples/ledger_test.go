package examples_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/e2e/internal/collector"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A block with a name belongs to a test that runs it. These blocks and commands are run by tests that do not read them.
var elsewhere = map[string]string{
	"README.md first":   "TestDemoSurvivesTheKillAndLeavesNothing",
	"docs/start.md dev": "TestDevRunsUntilCtrlCAndLeavesNothing",
	"temporal workflow show -w talk --codec-endpoint http://127.0.0.1:8081": "TestNoWordOfAnEncryptedAgentIsStored",
}

// A documented command ends with exit code 0, or serves until SIGTERM. These commands end with an error, which says what is missing.
var refusals = map[string]string{
	"starter forget --metadata customer=42": "add --yes, or see them with --dry-run", // without a terminal, on which it would ask
}

// These commands ask the person who enters them.
var answers = map[string]string{
	"temporal worker deployment set-current-version --deployment-name shop --build-id v2": "y\n",
}

// documented is a call of starter, worker or temporal in a block without a name.
type documented struct {
	document string
	// text is the command, without a comment behind it.
	text string
	// before has the lines that a reader enters before the command: the exports of the page's earlier blocks, and other lines of this block.
	before string
}

var (
	call    = regexp.MustCompile(`^(?:go run \./cmd/)?(?:starter|worker|temporal)(?: |$)`)
	hidden  = regexp.MustCompile(`[|;&({` + "`" + `] *(?:starter|worker|temporal) `)
	comment = regexp.MustCompile(` +# .*$`)
	export  = regexp.MustCompile(`(?m)^export .*\n`)
)

// serves reports whether the command runs until somebody stops it.
func (d documented) serves() bool {
	return strings.HasPrefix(d.text, "worker") || strings.HasPrefix(d.text, "starter codec-server") ||
		strings.HasPrefix(d.text, "starter serve") && !strings.HasPrefix(d.text, "starter serve key")
}

// documentedCommands returns the commands of the documents in blocks without a name. Those of docs/loop.md come first, because other pages
// go on with its agents. It asserts that a test runs each block with a name.
func documentedCommands(t *testing.T) (all []documented) {
	tests := testSources(t)
	const first = "docs/loop.md"
	pages := append([]string{first}, slices.DeleteFunc(documents(t), func(page string) bool { return page == first })...)
	known := 0
	inAnotherTest := func(name string) bool {
		test := elsewhere[name]
		if test == "" {
			return false
		}
		require.True(t, strings.Contains(tests, "func "+test+"("), "%s: there is no test %s", name, test)
		known++
		return true
	}
	for _, page := range pages {
		exports := ""
		for _, b := range blocks(t, page) {
			if b.lang != "bash" && b.lang != "console" {
				continue
			}
			switch {
			case inAnotherTest(page + " " + b.test):
			case b.test != "" && page == "docs/runbook.md":
				require.True(t, strings.Contains(tests, fmt.Sprintf("follow(%q", b.test)), "%s: no test runs the block %s", page, b.test)
			case b.test != "":
				require.True(t, strings.Contains(tests, fmt.Sprintf("blockOf(t, %q, %q)", page, b.test)), "%s: no test runs the block %s", page, b.test)
			default:
				commands, others := splitBlock(b)
				require.NotRegexp(t, hidden, others, "%s: a command that is not at the beginning of its line needs a test of its own", page)
				for _, d := range commands {
					if !inAnotherTest(d.text) {
						all = append(all, documented{page, d.text, exports + d.before})
					}
				}
				exports += strings.Join(export.FindAllString(others, -1), "")
			}
		}
	}
	require.Len(t, elsewhere, known, "a block or command is not there any more")
	return all
}

// splitBlock returns the commands of a block and its other lines. Each command has the other lines that stand before it. In a console block, only
// the text after a prompt counts.
func splitBlock(b block) (commands []documented, others string) {
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
		entered, prompt := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case b.lang == "console" && !prompt:
		case call.MatchString(entered):
			text := strings.TrimPrefix(comment.ReplaceAllString(entered, ""), "go run ./cmd/")
			commands = append(commands, documented{text: text, before: others})
		default:
			others += line
		}
	}
	return commands, others
}

// testSources returns the text of the tests that run commands.
func testSources(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"e2e/*/*_test.go", "cmd/*/*_test.go"} {
		files, err := filepath.Glob(world.Path(pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all.Write(text)
		}
	}
	return all.String()
}

// Every call of starter, worker and temporal that a document shows works as it is written, on a development server with the agents that the
// documents name. Blocks with a name have tests of their own.
func TestDocumentedCommandsWork(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq on this machine")
	}
	withoutCodecServer(t)
	commands := documentedCommands(t)
	require.Greater(t, len(commands), 40)
	l := newLedger(t)
	refused, answered := 0, 0
	for _, d := range commands {
		if answers[d.text] != "" {
			answered++
		}
		switch said := refusals[d.text]; {
		case said != "":
			refused++
			out, code := l.run(d)
			require.Equal(t, 2, code, "%s: %s\n%s", d.document, d.text, out)
			require.Contains(t, out, said, "%s: %s", d.document, d.text)
		case d.serves():
			l.serve(d)
		default:
			out, code := l.run(d)
			require.Zero(t, code, "%s: %s\n%s", d.document, d.text, out)
		}
	}
	require.Len(t, refusals, refused, "a command is not there any more")
	require.Len(t, answers, answered, "a command is not there any more")
	l.Finished("report", "done")
	l.Eventually("the failed agent was resumed", func() bool { return l.Runs("failed") == 2 })
	l.Eventually("the held chat has answered", func() bool { return l.Show("stopped").Answer == "done" })
}

// ledger is a world with the agents and the files that the documents name.
type ledger struct {
	*world.World
	// alone is a folder in which workers have a task queue of their own.
	alone  string
	places *strings.Replacer
	// path is the PATH of the commands.
	path string
}

func newLedger(t *testing.T) *ledger {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, documentedModel, tools, "")
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	w.Queue = "agents"
	w.MoveTo(own)
	var models strings.Builder
	for _, name := range []string{"main", "cheap", "best", "large"} {
		fmt.Fprintf(&models, "  %s: {model: scripted, base_url: %q, price: {input: 1, output: 1}}\n", name, w.Model.URL)
	}
	yaml := fmt.Sprintf(`models:
%smcp_servers:
  shop: {url: %q}
agents:
  assistant: {model: main, choices: {models: [large], reasoning_efforts: [low]}}
  shop: {model: main, tools: [shop.*], approval: {default: always}}
  support: {model: main, tools: [shop.*], choices: {models: [cheap, best]}}
`, &models, tools.URL)
	w.WriteConfig(yaml)
	l := &ledger{World: w, alone: t.TempDir()}
	writeFile(t, filepath.Join(l.alone, "agents.yaml"), "task_queue: alone\n"+yaml)
	writeFile(t, filepath.Join(l.alone, "auth.txt"), "Bearer 5f0c5f0c5f0c5f0c\nBasic ann:a longer password\n")
	writeCertificate(t, l.alone)
	for _, name := range []string{"terse.txt", "french.md", "prompt.md"} {
		writeFile(t, filepath.Join(filepath.Dir(w.Config), name), "Answer in one word.\n")
	}
	l.places = strings.NewReplacer(
		"examples/agents.yaml", "agents.yaml",
		"http://collector:4318", collector.New(t).URL, "PROMETHEUS_PORT=9464", fmt.Sprint("PROMETHEUS_PORT=", world.FreePort(t)),
		"codec-server --origin", "codec-server --listen 127.0.0.1:0 --origin", "0.0.0.0:8081", "127.0.0.1:0",
	)
	temporal, err := devserver.Binary(t.Context(), io.Discard)
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(temporal, filepath.Join(bin, "temporal")))
	l.path = strings.Join([]string{filepath.Dir(world.Binary("starter")), bin, os.Getenv("PATH")}, string(os.PathListSeparator))
	l.serve(documented{text: "worker --deployment shop --build-id v1"}) // from before the deploy
	w.Worker("--dev")
	w.Must("run", "-a", "support", "--id", "order-7", "Pay invoice 1.")
	w.Must("run", "-a", "support", "--chat", "--id", "talk", "Hello")
	for range 3 {
		w.Must("send", "talk", "And then?")
	}
	w.Must("run", "-a", "shop", "--detach", "--id", "report", "Write the report.")
	w.Must("run", "-a", "support", "--detach", "--id", "failed", "--metadata", "customer=42", "no quota")
	w.Must("run", "-a", "support", "--detach", "--chat", "--id", "stopped", "no quota")
	w.Eventually("Temporal lists what has failed", func() bool {
		return strings.Contains(w.Must("list", "--where", "failed"), "failed") && strings.Contains(w.Must("list", "--where", "held"), "stopped")
	})
	return l
}

// documentedModel calls a tool three times for the report, has no quota for some messages, and otherwise has nothing to do.
func documentedModel(_ context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	switch asked := world.Asked(req); {
	case last.Role == llm.User && last.Content == "no quota":
		return llm.Reply{}, &llm.Error{Class: llm.QuotaExceeded, Message: "pay first", Status: 402}
	case asked < 3 && slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Content == "Write the report." }):
		return llmtest.Call(llmtest.ToolCall(fmt.Sprint(asked), "pay", fmt.Sprintf(`{"amount": %d}`, asked))), nil
	}
	return llmtest.Say("done"), nil
}

// command returns the documented command in a shell. It replaces addresses and ports, and the name of the call that waits.
func (l *ledger) command(d documented) *exec.Cmd {
	const handle = "3f2a91c4"
	script := l.places.Replace(d.before + d.text)
	if strings.Contains(script, handle) {
		waits := ""
		l.Eventually("the report waits for a person", func() bool {
			for _, c := range world.Objects[struct{ ID, Handle string }](l.World, "inbox", "--json") {
				waits = c.Handle
			}
			return waits != ""
		})
		script = strings.ReplaceAll(script, handle, waits)
	}
	cmd := l.CommandOf("bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir = filepath.Dir(l.Config)
	cmd.Env = append(cmd.Env, "PATH="+l.path)
	return cmd
}

func (l *ledger) run(d documented) (out string, code int) {
	cmd := l.command(d)
	cmd.Stdin = strings.NewReader(answers[d.text])
	p := l.StartCommand(cmd)
	l.Eventually(d.document+": "+d.text+" ends", p.Ended)
	return p.Output(), p.Cmd.ProcessState.ExitCode()
}

// serve starts the command, and stops it when it is ready.
func (l *ledger) serve(d documented) {
	d.text = "exec " + d.text
	cmd := l.command(d)
	cmd.Dir = l.alone
	cmd.Env = append(cmd.Env, "REAGENT_CONFIG=agents.yaml")
	p := l.StartCommand(cmd)
	l.Eventually(d.document+": "+d.text+" is ready", func() bool {
		if p.Ended() {
			require.FailNow(l.T, "it has ended", "%s: %s\n%s", d.document, d.text, p.Output())
		}
		return strings.Contains(p.Output(), "Ready.")
	})
	if _, build, ok := strings.Cut(d.text, "--deployment shop --build-id "); ok {
		l.Eventually("Temporal knows the version", func() bool {
			o := sdk.WorkerDeploymentDescribeVersionOptions{BuildID: strings.Fields(build)[0]}
			_, err := l.Temporal.WorkerDeploymentClient().GetHandle("shop").DescribeVersion(l.T.Context(), o)
			return err == nil
		})
	}
	p.Terminate()
	p.Wait()
	require.Zero(l.T, p.Cmd.ProcessState.ExitCode(), "%s: %s\n%s", d.document, d.text, p.Output())
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	writeFile(t, filepath.Join(folder, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	writeFile(t, filepath.Join(folder, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}
