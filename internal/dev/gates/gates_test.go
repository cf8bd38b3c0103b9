package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram is an environment variable. If it is set, this test binary is the program itself, with the gates of these tests.
const asProgram = "REAGENT_GATES_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	if err := run(context.Background(), os.Args[1:], small, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// small are gates with the targets of makefile.
var small = []gate{
	{name: "bad", parts: over("PART", "one", "two"), figures: []figure{sum("tries", `^tried (\d+)`)}},
	{name: "good", set: []variable{{"COUNT", "3"}}, parts: seeds("COUNT"), figures: []figure{sum("seeds", `^seed`), last("inputs", `inputs (\d+)`)}},
	{name: "listed", parts: listed("PART", "listed-list"), together: true, figures: []figure{sum("parts", `^part`)}},
	{name: "empty", parts: whole},
	{name: "pair", parts: over("PART", "one", "two", "three"), together: true},
	{name: "packages", parts: listed("PART", "packages-list")},
}

// Part one of the gate bad fails while there is no file "mended". The gate good waits at its second seed, if there is a fifo.
const makefile = `
bad:
	@echo $@ $(PART) >> bin/ran; echo tried 2; [ $(PART) = two ] || [ -e bin/mended ]
good:
	@echo $@ $(COUNT) >> bin/ran; echo seed $(REAGENT_SEED); echo inputs 1; echo inputs 20
	@[ ! -p bin/fifo ] || [ $$(grep -c good bin/ran) != 2 ] || { echo waits > bin/fifo; cat bin/never; }
listed-list:
	@echo "one 1"; echo "it's two"
# If bin/pair is a fifo, part one of the gate pair ends when part two runs beside it.
pair:
	@[ $(PART) = one ] && echo $@ > bin/pair || [ $(PART) = three ] || cat bin/pair
listed:
	@echo $@ >> bin/ran; echo "part $(PART)"
packages-list:
	@printf 'one\t./one\nother\t./other list.txt\n'
packages:
	@echo $@ $(PART) >> bin/ran
empty:
	@true
`

type lab struct {
	testing.TB
	dir string
}

func newLab(t *testing.T) *lab {
	l := &lab{t, t.TempDir()}
	l.write("Makefile", makefile)
	l.write(".gitignore", "/bin/\n")
	l.write("docs/gates.md", "# Gates\n\nText before.\n\n"+heading+"| empty | 0123456789 | 2020-01-01 | 1s | passed | none 1 |\n\nText after.\n")
	l.write("bin/ran", "")
	l.write("go.mod", "module example.com/lab\n\ngo 1.24\n")
	l.write("one/one.go", "package one\n\nimport _ \"example.com/lab/below\"\n")
	l.write("below/below.go", "package below\n")
	l.write("other/other.go", "package other\n")
	l.git("init", "--quiet")
	l.git("add", "--all")
	l.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "x")
	return l
}

func (l *lab) write(name, text string) {
	path := filepath.Join(l.dir, name)
	require.NoError(l, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(l, os.WriteFile(path, []byte(text), 0o600))
}

func (l *lab) read(name string) string {
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	require.NoError(l, err)
	return string(text)
}

func (l *lab) git(args ...string) {
	cmd := exec.CommandContext(l.Context(), "git", args...)
	cmd.Dir = l.dir
	out, err := cmd.CombinedOutput()
	require.NoError(l, err, string(out))
}

func (l *lab) program(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(l, err)
	cmd := exec.CommandContext(l.Context(), self, args...)
	cmd.Dir, cmd.Env = l.dir, append(os.Environ(), asProgram+"=1")
	return cmd
}

// gates runs the gates and returns what they print. ok is true if the exit code is 0.
func (l *lab) gates(args ...string) (out string, ok bool) {
	text, err := l.program(args...).CombinedOutput()
	return string(text), err == nil
}

// ran returns how many parts have run that write a line with the given beginning.
func (l *lab) ran(beginning string) int {
	return strings.Count("\n"+l.read("bin/ran"), "\n"+beginning)
}

func (l *lab) row(gate string) []string {
	_, rest, found := strings.Cut(l.read(table), "\n| "+gate+" | ")
	require.True(l, found, "%s has no row", gate)
	row, _, _ := strings.Cut(rest, " |\n")
	return strings.Split(row, " | ")
}

// The program is killed with SIGKILL while a part runs. The next call runs this part and those after it, and none before it.
func TestKilledGatesGoOnWhereTheyWere(t *testing.T) {
	l := newLab(t)
	fifo := filepath.Join(l.dir, "bin/fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(l.dir, "bin/never"), 0o600))
	first := l.program("good,listed")
	require.NoError(t, first.Start())
	said, err := os.ReadFile(fifo) // until the second seed runs
	require.NoError(t, err)
	require.Equal(t, "waits\n", string(said))
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	never, err := os.OpenFile(filepath.Join(l.dir, "bin/never"), os.O_WRONLY, 0) // ends what the killed program has started
	require.NoError(t, err)
	require.NoError(t, never.Close())
	require.NotContains(t, l.read(table), "| good |")
	require.NoError(t, os.Remove(fifo))

	// If the results are committed, a clone continues with the second seed.
	l.git("add", "--all")
	l.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "results")
	other := &lab{t, filepath.Join(t.TempDir(), "clone")}
	l.git("clone", "--quiet", l.dir, other.dir)
	other.write("bin/ran", "")
	said2, ok := other.gates("good")
	require.True(t, ok, said2)
	require.Contains(t, said2, "good: 1 of 3 parts have passed before")
	require.Equal(t, 2, other.ran("good"))

	out, ok := l.gates("good,listed")
	require.True(t, ok, out)
	require.Contains(t, out, "good: 1 of 3 parts have passed before")
	require.Equal(t, 4, l.ran("good"), "the second seed ran twice")
	require.Equal(t, "passed", l.row("good")[3])
	require.Equal(t, "seeds 3, inputs 60", l.row("good")[4])
	require.Equal(t, "parts 2", l.row("listed")[4])

	out, ok = l.gates("good,listed")
	require.True(t, ok, out)
	require.Equal(t, 4, l.ran("good"))
	out, ok = l.gates("--again", "good")
	require.True(t, ok, out)
	require.Equal(t, 7, l.ran("good"))
}

// Parts that may run beside each other do so with --jobs. Here, two parts wait for each other.
func TestPartsRunBesideEachOther(t *testing.T) {
	l := newLab(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(l.dir, "bin/pair"), 0o600))
	out, ok := l.gates("--jobs", "2", "pair")
	require.True(t, ok, out)
	require.Equal(t, "passed", l.row("pair")[3])
}

// A line that the program could not finish, because it died, makes neither this nor another result unreadable.
func TestTornResultIsRunAgain(t *testing.T) {
	l := newLab(t)
	_, ok := l.gates("good")
	require.True(t, ok)
	text := l.read(resultsFile)
	l.write(resultsFile, text[:len(text)-20])
	for range 2 {
		out, ok := l.gates("good")
		require.True(t, ok, out)
	}
	require.Equal(t, 4, l.ran("good"), "one seed ran again, once")
}

// A gate that fails is recorded with the command that shows the failure. The others run, and the exit code is 1. The part that has failed
// runs again, and the table says so.
func TestFailedGateEndsNoOther(t *testing.T) {
	l := newLab(t)
	out, ok := l.gates()
	require.False(t, ok)
	require.Contains(t, out, "see it again: make bad PART=one\n")
	require.Equal(t, "FAILED: 1 of 2 parts, `make bad PART=one`", l.row("bad")[3])
	require.Equal(t, "tries 4", l.row("bad")[4])
	for _, name := range []string{"good", "listed", "empty"} {
		require.Equal(t, "passed", l.row(name)[3])
	}

	l.write("bin/mended", "")
	out, ok = l.gates()
	require.True(t, ok, out)
	require.Equal(t, "passed; 1 of 2 parts only when they ran again", l.row("bad")[3])
	require.Equal(t, 2, l.ran("bad one"))
	require.Equal(t, 1, l.ran("bad two"))
	require.Equal(t, 3, l.ran("good"))
}

// A result counts for the source tree with which it was made, and the table names the commit. The rows of gates that did not run stay.
func TestResultsCountForOneSourceTree(t *testing.T) {
	l := newLab(t)
	_, ok := l.gates("good")
	require.True(t, ok)
	require.Len(t, l.row("good")[0], 10, "a clean commit")
	require.Equal(t, "0123456789", l.row("empty")[0])
	require.Contains(t, l.read(table), "Text before.")
	require.True(t, strings.HasSuffix(l.read(table), "\n\nText after.\n"), l.read(table))

	l.git("add", "--all")
	l.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "the table")
	_, ok = l.gates("good")
	require.True(t, ok)
	require.Equal(t, 3, l.ran("good"), "the documentation is no part of the source tree")

	l.write("code.go", "package code\n")
	_, ok = l.gates("good")
	require.True(t, ok)
	require.Equal(t, 6, l.ran("good"))
	require.Contains(t, l.row("good")[0], " + changes")
}

// A part that depends on packages runs again if one of them changes, if a package changes that it imports, or if one of its tests changes.
func TestPartDependsOnWhatItImports(t *testing.T) {
	l := newLab(t)
	ran := func(one, other int, why string) {
		t.Helper()
		out, ok := l.gates("packages")
		require.True(t, ok, out)
		require.Equal(t, []int{one, other}, []int{l.ran("packages one"), l.ran("packages other")}, why)
	}
	ran(1, 1, "the first time")
	l.write("docs/page.md", "text")
	l.write("below/below_test.go", "package below\n")
	ran(1, 1, "the documentation, and a test of an imported package")
	l.write("below/below.go", "// Package below has a comment.\npackage below // and another\n")
	ran(1, 1, "comments")
	l.write("below/below.go", "package below\n\nconst changed = true\n")
	ran(2, 1, "an imported package")
	l.write("one/testdata/one.txt", "text")
	ran(3, 1, "a file of the tests")
	l.write("list.txt", "text")
	ran(3, 2, "a file that the part names")
	l.write("Makefile", strings.ReplaceAll(makefile, "echo waits", "echo it waits"))
	ran(3, 2, "another target of the Makefile")
	l.write("Makefile", strings.ReplaceAll(makefile, "@echo $@ $(PART)", "echo $@ $(PART)"))
	ran(4, 3, "the target of the part")
	l.write("go.mod", "module example.com/lab\n\ngo 1.25\n")
	ran(5, 4, "another language version")
	l.write("below/below.go", "//go:build !plan9\n\npackage below\n\nconst changed = true\n")
	ran(6, 4, "a directive")
	require.Equal(t, 2, strings.Count(l.read(resultsFile), `"gate"`), "results for other files are forgotten")
}

// If a file changes while a part runs, the result belongs to no source tree, so it does not count.
func TestTreeThatChangesMeanwhileEndsTheGates(t *testing.T) {
	l := newLab(t)
	l.write("Makefile", "good:\n\techo $@ >> bin/ran; touch new.go\n")
	out, ok := l.gates("good")
	require.False(t, ok)
	require.Contains(t, out, "the source tree has changed while the gate ran")
	require.NotContains(t, l.read(table), "| good |")
}

// Variables choose the parts of a gate. What is misspelt is an error, so that nobody takes another run for the one that was asked for.
func TestGatesAreChosenByName(t *testing.T) {
	l := newLab(t)
	out, ok := l.gates("--json", "good", "COUNT=2", "REAGENT_SEED=7")
	require.True(t, ok, out)
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Contains(t, out, `"command":"make good COUNT=1 REAGENT_SEED=8"`)
	for _, wrong := range [][]string{{"god"}, {"good", "CONT=2"}, {"good", "REAGENT_SEED=x"}, {"good", "COUNT=x"}, {"bad", "COUNT=2"}} {
		out, ok := l.gates(wrong...)
		require.False(t, ok, out)
		require.Equal(t, 2, l.ran("good"))
	}
	out, ok = l.gates("--help")
	require.True(t, strings.HasPrefix(out, help), "%v %s", ok, out)
}

// Each gate is a target of the Makefile, which uses the variables of the gate, and the patterns of its figures have at most one group.
func TestGatesAreTargetsOfTheMakefile(t *testing.T) {
	text, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	for _, g := range gates {
		require.Contains(t, string(text), "\n"+g.name+": ## ")
		for _, v := range g.set {
			require.True(t, bytes.Contains(text, []byte("$("+v.name+")")), v.name)
		}
		for _, f := range g.figures {
			require.LessOrEqual(t, f.pattern.NumSubexp(), 1, f.name)
		}
	}
	parts, err := listed("FUZZ", "fuzz-list")(t.Context(), &workspace{dir: "../../.."}, nil)
	require.NoError(t, err)
	require.Greater(t, len(parts), 10)
}
