package examples_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// documents are the Markdown files that tell users what to write. Relative to the root of the module.
func documents(t *testing.T) []string {
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/README.md", "deploy/*.md"} {
		files, err := filepath.Glob(world.Path(pattern))
		require.NoError(t, err)
		for _, file := range files {
			name, err := filepath.Rel(world.Path(), file)
			require.NoError(t, err)
			all = append(all, name)
		}
	}
	require.Greater(t, len(all), 20)
	return all
}

func read(t *testing.T, document string) string {
	data, err := os.ReadFile(world.Path(document))
	require.NoError(t, err)
	return string(data)
}

// block is a fenced block of a Markdown file. Its opening line has the language. Behind the language stands the name of
// a test or of the file from which the block is copied.
type block struct{ lang, test, text string }

var fence = regexp.MustCompile("(?ms)^ *```(\\w*)(?: ([^\n]*))?\n(.*?)^ *```$")

func blocks(t *testing.T, document string) []block {
	text := read(t, document)
	var all []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		all = append(all, block{m[1], m[2], m[3]})
	}
	require.Len(t, regexp.MustCompile("(?m)^ *```").FindAllString(text, -1), 2*len(all), "%s: a fence that is not closed", document)
	return all
}

// blockOf returns the text of a document's block with the given name of a test. There must be exactly one such block.
func blockOf(t *testing.T, document, test string) string {
	var found []string
	for _, b := range blocks(t, document) {
		if b.test == test {
			found = append(found, b.text)
		}
	}
	require.Len(t, found, 1, "%s: %s", document, test)
	return found[0]
}

// The README is read to its end, and a page of the documentation in ten minutes. The design has a page of its own, and so have the lists.
func TestDocumentsAreShort(t *testing.T) {
	require.LessOrEqual(t, strings.Count(read(t, "README.md"), "\n"), 120)
	for _, m := range regexp.MustCompile(`\]\((\w+\.md)\)`).FindAllStringSubmatch(read(t, "docs/operations.md"), -1) {
		require.Less(t, len(strings.Fields(read(t, "docs/"+m[1]))), 2200, "%s: a reader takes more than ten minutes", m[1])
	}
}

// Go code in the documents is also in programs, which are compiled and have tests of their own. It stands there in the same order; a comment with
// an ellipsis says that something is left out.
func TestDocumentsShowCodeAsItIs(t *testing.T) {
	shown := 0
	for _, document := range documents(t) {
		for _, b := range blocks(t, document) {
			if b.lang != "go" && !strings.Contains(b.test, "/") {
				continue
			}
			shown++
			file, err := os.ReadFile(world.Path(b.test))
			require.NoError(t, err, "%s shows Go code without its file:\n%s", document, b.text)
			rest := unindented(string(file))
			for _, part := range regexp.MustCompile(`(?m)^ *(//|#) …\n`).Split(b.text, -1) {
				before, after, found := strings.Cut(rest, unindented(part))
				require.True(t, found, "%s: not in %s, or not in this order:\n%s", document, b.test, part)
				require.True(t, before == "" || strings.HasSuffix(before, "\n"))
				rest = after
			}
		}
	}
	require.GreaterOrEqual(t, shown, 8)
	require.Equal(t, read(t, "examples/hello/main.go"), blockOf(t, "README.md", "examples/hello/main.go"), "the README shows the whole program")
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// The commands of the first page work exactly as they are written there. The model is a scripted one.
func TestFirstPageWorks(t *testing.T) {
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "list_files", `{"path":"."}`)),
		llmtest.Say("There are several."), llmtest.Say("The tests."), llmtest.Say("Les tests."),
	), nil, "")
	w.Queue = "agents"
	t.Setenv("OPENAI_BASE_URL", w.Model.URL)
	configure(w, "examples/agents.yaml", "files_root: ..", "files_root: "+world.Path())

	worker := shell(w, blockOf(t, "docs/start.md", "worker"))
	w.Eventually("the worker serves", func() bool {
		require.False(t, worker.Ended(), "%s", worker.Output())
		return strings.Contains(worker.Output(), "Ready.")
	})
	talk := shell(w, blockOf(t, "docs/start.md", "run"))
	w.Eventually("the commands have ended", talk.Ended)
	require.Zero(t, talk.Cmd.ProcessState.ExitCode(), "%s", talk.Output())
	require.Regexp(t, `(?s)> Which packages.*list_files.*There are several\..*> What does the Makefile.*The tests\..*talk  assistant.*Les tests\.`, talk.Output())
	w.Eventually("the chat is closed", func() bool { return w.Show("talk").Status == "completed" })

	chat := shell(w, "export REAGENT_CONFIG=examples/agents.yaml\necho Hello | "+blockOf(t, "docs/start.md", "chat"))
	w.Eventually("the conversation has ended", chat.Ended)
	require.Zero(t, chat.Cmd.ProcessState.ExitCode(), "%s", chat.Output())
	require.Contains(t, chat.Output(), "There are several.\n")
}

// The first page's commands for approvals work exactly as they are written there.
func TestFirstPageApproves(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    tools: [far.*]\n    approval: {default: destructive}\n")
	w.Worker()
	for _, id := range []string{"order-7", "order-8"} {
		w.Must("run", "--detach", "--id", id, "pay")
		w.Eventually("the call waits", func() bool {
			calls, err := w.Client.Pending(t.Context(), id)
			require.NoError(t, err)
			return len(calls) == 1
		})
	}
	decide := shell(w, blockOf(t, "docs/start.md", "approve"))
	w.Eventually("the commands have ended", decide.Ended)
	require.Zero(t, decide.Cmd.ProcessState.ExitCode(), "%s", decide.Output())
	require.Regexp(t, `(?s)order-7 .*pay\n    n  1\n.*order-8 .*Approved \w+ pay.*Denied \w+ pay`, decide.Output())
	for id, result := range map[string]string{"order-7": `did {"n":1}`, "order-8": "denied: a person refused this call: too expensive"} {
		w.Finished(id, "done")
		require.Contains(t, w.Show(id).Lines(), "tool: "+result)
	}
	require.Len(t, tools.Effects(), 1)
}

// The script that approves a call and reads the answer works as it is written.
func TestScriptOfTheDocumentsApproves(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq on this machine")
	}
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), llmtest.Say("paid")), tools,
		"    tools: [far.*]\n    approval: {default: always}\n")
	w.Worker()
	script := strings.NewReplacer("-a shop", "-a x", "order-7", t.Name()).Replace(blockOf(t, "docs/scripts.md", "decide"))
	decide := shell(w, "export REAGENT_CONFIG=examples/agents.yaml\nstarter() { go run ./cmd/starter \"$@\"; }\n"+script)
	w.Eventually("the script has ended", decide.Ended)
	require.Zero(t, decide.Cmd.ProcessState.ExitCode(), "%s", decide.Output())
	require.Regexp(t, `(?s)Approved \w+ pay.*\npaid\n`, decide.Output())
	require.Len(t, tools.Effects(), 1)
}

// shell starts bash with commands of a document. It replaces `go run` with the programs that the tests have built, and
// the configuration of the example with that of w.
func shell(w *world.World, commands string) *world.Process {
	for _, r := range [][2]string{
		{"go run ./cmd/worker", "exec " + world.Binary("worker")},
		{"go run ./cmd/starter", world.Binary("starter")},
		{"examples/agents.yaml", w.Config},
	} {
		commands = strings.ReplaceAll(commands, r[0], r[1])
	}
	cmd := exec.Command("bash", "-eu", "-c", commands)
	cmd.Dir = world.Path()
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+world.Server.Address())
	p, err := world.StartProcess(cmd)
	require.NoError(w.T, err)
	w.T.Cleanup(p.Kill)
	return p
}

// A document names no command, flag or setting that does not exist.
func TestDocumentsNameWhatExists(t *testing.T) {
	p := newPrograms(t)
	for _, document := range documents(t) {
		if document == "CHANGELOG.md" || document == "docs/gates.md" {
			continue // they also name what there was, and flags of another program
		}
		text := read(t, document)
		for _, line := range commandLines(text) {
			if strings.HasPrefix(line, "-") && strings.HasPrefix(document, "examples/") {
				continue // a flag of the example's own program
			}
			require.NoError(t, p.check(line), "%s: %s", document, line)
		}
		for _, b := range blocks(t, document) {
			if b.lang == "yaml" && !strings.Contains(b.test, "/") {
				require.Empty(t, unknownKeys(b.text), "%s:\n%s", document, b.text)
			}
		}
		for _, name := range settings(text) {
			require.True(t, isSetting(name), "%s names the setting %s, which does not exist", document, name)
		}
	}
}

// programs are the flags of the commands of starter and worker.
type programs struct {
	w     *world.World
	flags map[string]map[string]bool // command, such as "starter run" or "worker" → its flags
}

func newPrograms(t *testing.T) *programs {
	p := &programs{w: &world.World{T: t}, flags: map[string]map[string]bool{}}
	help, _, _ := p.w.Starter("--help")
	p.add("starter", help)
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`).FindAllStringSubmatch(help, -1) {
		text, _, code := p.w.Starter(m[1], "--help")
		if code == 0 && strings.Contains(text, "starter "+m[1]) {
			p.add("starter "+m[1], text)
		}
	}
	text, err := p.w.Command("worker", "--help").CombinedOutput()
	require.NoError(t, err, "%s", text)
	p.add("worker", string(text))
	require.Greater(t, len(p.flags), 20)
	return p
}

func (p *programs) add(command, help string) {
	p.flags[command] = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-(\w), |    )--([\w-]+)`).FindAllStringSubmatch(help, -1) {
		p.flags[command]["-"+m[1]], p.flags[command]["--"+m[2]] = true, true
	}
}

// check returns an error if the line calls starter or worker with a command or a flag that does not exist. Of a line that is only a flag, some
// command must have it.
func (p *programs) check(line string) error {
	words := strings.Fields(line)
	command := words[0]
	if command == "starter" && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		command += " " + words[1]
	}
	known, found := p.flags[command]
	if !found && !strings.HasPrefix(command, "-") {
		return fmt.Errorf("there is no command %q", command)
	}
	for _, word := range words {
		flag, _, _ := strings.Cut(strings.TrimRight(word, ".,;:)]"), "=")
		switch {
		case word == "#" || word == "|":
			return nil
		case !strings.HasPrefix(flag, "--") || flag == "--":
		case found && !known[flag]:
			return fmt.Errorf("%s has no flag %s", command, flag)
		case !found && !p.has(flag):
			return fmt.Errorf("no command has the flag %s", flag)
		}
	}
	return nil
}

func (p *programs) has(flag string) bool {
	for _, known := range p.flags {
		if known[flag] {
			return true
		}
	}
	return false
}

var (
	code    = regexp.MustCompile("`([^`\n]+)`")
	setting = regexp.MustCompile(`^(?:limits|builtin|callbacks|price|rate|reasoning)\.[a-z_.]+$`)
	program = regexp.MustCompile(`^(?:\$ )?(?:go run \./cmd/)?((?:starter|worker)(?: .*)?|--[a-z][a-z-]*)$`)
)

// commandLines returns the calls of starter and worker in a document, and the flags that stand alone.
func commandLines(text string) []string {
	var lines []string
	add := func(line string) {
		if m := program.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			lines = append(lines, m[1])
		}
	}
	for line := range strings.Lines(text) {
		add(line)
	}
	for _, m := range code.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		add(m[1])
	}
	return lines
}

// settings returns the settings of agents.yaml that a document names in the form `limits.cost`.
func settings(text string) []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if setting.MatchString(m[1]) && !strings.HasSuffix(m[1], ".go") {
			all = append(all, m[1])
		}
	}
	return all
}

// isSetting reports whether agents.yaml has the setting at its top, in a model, or in an agent.
func isSetting(name string) bool {
	keys := strings.Split(name, ".")
	value := strings.Join(keys, ": {") + ": 1" + strings.Repeat("}", len(keys)-1)
	for _, yaml := range []string{value, "models: {m: {" + value + "}}", "agents: {a: {" + value + "}}"} {
		if len(unknownKeys(yaml)) == 0 {
			return true
		}
	}
	return false
}

// unknownKeys returns the unknown keys and the syntax errors in a piece of agents.yaml. It ignores missing parts, such as the model of an agent.
func unknownKeys(yaml string) []string {
	var problems *config.Error
	_, err := config.Parse("agents.yaml", []byte(yaml))
	if !errors.As(err, &problems) {
		return nil
	}
	var unknown []string
	for _, p := range problems.Problems {
		if strings.HasPrefix(p.Message, "unknown key") || p.Field == "" && p.Line > 0 {
			unknown = append(unknown, p.String())
		}
	}
	return unknown
}

// The models that the first page shows are a valid configuration.
func TestFirstPageModelsAreValid(t *testing.T) {
	yaml := blockOf(t, "docs/start.md", "models") + "agents:\n"
	for _, name := range []string{"main", "claude", "local", "router", "azure"} {
		yaml += fmt.Sprintf("  a-%s: {model: %s}\n", name, name)
	}
	cfg, err := config.Parse("agents.yaml", []byte(yaml))
	require.NoError(t, err)
	require.Len(t, cfg.Models, 5)
	require.Equal(t, config.DefaultBaseURL, cfg.Models["main"].BaseURL)
	require.Empty(t, cfg.Models["local"].APIKeyEnv)
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY"} {
		t.Setenv(name, "k")
	}
	require.NoError(t, cfg.CheckEnvironment())
}

// With the environment variables that the first page shows, the Temporal client uses TLS and an API key for Temporal Cloud.
func TestFirstPageReachesTemporalCloud(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)=(\S+)`).FindAllStringSubmatch(blockOf(t, "docs/start.md", "cloud"), -1) {
		t.Setenv(m[1], m[2])
	}
	o, err := dial.ClientOptions("", "")
	require.NoError(t, err)
	require.Equal(t, "us-east-1.aws.api.temporal.io:7233", o.HostPort)
	require.Equal(t, "your-namespace.a1b2c", o.Namespace)
	require.NotNil(t, o.ConnectionOptions.TLS)
	require.NotNil(t, o.Credentials)
}

// Every file, folder and heading to which the documents link exists, and so does every folder of a program that they name.
func TestDocumentsPointAtWhatExists(t *testing.T) {
	for _, document := range documents(t) {
		text := fence.ReplaceAllString(read(t, document), "")
		for _, m := range regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(text, -1) {
			target := document
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(document), m[1])
			}
			require.FileExists(t, existing(world.Path(target)), "%s points at %s", document, m[0])
			if m[2] != "" {
				require.Contains(t, anchors(read(t, target)), m[2], "%s points at %s", document, m[0])
			}
		}
		for _, m := range regexp.MustCompile(`[^.](\./(?:cmd|examples)/[\w/]+)`).FindAllStringSubmatch(read(t, document), -1) {
			require.DirExists(t, world.Path(m[1]), "%s names %s", document, m[1])
		}
	}
	picture, err := os.Stat(world.Path("docs/images/webui.png"))
	require.NoError(t, err)
	require.Less(t, picture.Size(), int64(300_000), "a page that loads at once")
}

// anchors returns the anchors that GitHub gives to the headings of a document.
func anchors(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		heading := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(heading, " ", "-"))
	}
	return all
}

// existing returns the file that must exist if a document links to path. This is path itself or, for a folder, the
// README.md in it.
func existing(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "README.md")
	}
	return path
}
