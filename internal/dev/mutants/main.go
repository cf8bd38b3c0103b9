// Command mutants checks that the tests can fail. Each file in testdata describes a mutant: a change that breaks the code, and a
// test. The command runs the test with the change, and requires that the test fails. It does not change the source files: the go
// command reads the changed files by its flag -overlay.
//
// Run it in the root of the source tree, as `make mutants` does. The arguments are patterns for the names of mutants, such as
// "late-*". Without arguments, the command tries every mutant, and also requires that each row of docs/failures.md names its
// mutants.
//
// With -list, the command prints the arguments of smaller calls that do the same together, one call in each line. The calls with
// -green run tests on the unchanged code. The calls with -trust try one mutant without that.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	list := flags.Bool("list", false, "print the arguments of smaller calls that do the same together")
	green := flags.String("green", "", "only run the tests of the mutants in this `package`, on the unchanged code")
	trust := flags.Bool("trust", false, "do not run the tests on the unchanged code first")
	if err := flags.Parse(args); err != nil {
		return err
	}
	patterns := flags.Args()
	all, err := readAll("internal/dev/mutants/testdata", patterns)
	if err != nil {
		return err
	}
	if len(patterns) == 0 {
		if err := requireRows("docs/failures.md", all); err != nil {
			return err
		}
	}
	if *list {
		return printCalls(all, stdout)
	}
	if *green != "" {
		all = slices.DeleteFunc(all, func(m mutant) bool { return m.testPackage != *green })
		if len(all) == 0 {
			return fmt.Errorf("-green %s: no mutant has a test in this package; -list shows the packages", *green)
		}
	}
	if !*trust {
		if err := requireGreen(ctx, all, stdout); err != nil {
			return err
		}
	}
	if *green != "" {
		return nil
	}
	alive := 0
	for _, m := range all {
		verdict, output, err := m.try(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%-7s %-28s %-8s %s %s\n", verdict, m.name, strings.Join(m.rows, " "), m.testPackage, m.test)
		if verdict != "killed" {
			alive++
			fmt.Fprint(stdout, output)
		}
	}
	fmt.Fprintf(stdout, "%d mutants, %d alive\n", len(all), alive)
	if alive > 0 {
		return errors.New("a test does not fail although its mutant breaks the code, or a mutant cannot be applied: see the lines that do not begin with \"killed\"")
	}
	return nil
}

// requireRows returns an error if the last column of a row of docs/failures.md does not name exactly the row's mutants. Each row is
// a claim with its tests. Only a [mutant] shows that these tests notice a failure, so a row without one is an error, too.
func requireRows(page string, all []mutant) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var wrong []error
	for _, row := range regexp.MustCompile(`(?m)^\| ([ABC][0-9]+) \|.*\| ([^|]*) \|$`).FindAllStringSubmatch(string(text), -1) {
		var names []string
		for _, m := range all {
			if slices.Contains(m.rows, row[1]) {
				names = append(names, m.name)
			}
		}
		switch want := strings.Join(names, ", "); {
		case want == "":
			wrong = append(wrong, fmt.Errorf("row %s has no mutant; add one to internal/dev/mutants/testdata", row[1]))
		case want != row[2]:
			wrong = append(wrong, fmt.Errorf("row %s names the mutants %q; write %q", row[1], row[2], want))
		}
	}
	return errors.Join(wrong...)
}

// needed returns what the outcome of the tests in a package depends on, in the form that the command gates reads. The tests below
// e2e also build the programs.
func needed(testPackage string) string {
	needed := testPackage + " internal/dev/mutants/mutants.go"
	if strings.HasPrefix(testPackage, "./e2e/") {
		needed += " ./cmd/..."
	}
	return needed
}

// printCalls prints the calls for the flag -list, one in each line: the arguments, a tab, and the packages and files on which the
// outcome of the call depends.
func printCalls(all []mutant, stdout io.Writer) error {
	files := map[string]string{}
	for _, m := range all {
		files[m.testPackage] += " internal/dev/mutants/testdata/" + m.name + ".txt"
	}
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(stdout, "-green %s\t%s%s\n", folder, needed(folder), files[folder])
	}
	for _, m := range all {
		fmt.Fprintf(stdout, "-trust %s\t%s internal/dev/mutants/testdata/%s.txt\n", m.name, needed(m.testPackage), m.name)
	}
	return nil
}

// requireGreen runs the test of each [mutant] on the unchanged code. It returns an error if a test fails. Such a test would
// also fail with its mutant, but the failure would prove nothing.
func requireGreen(ctx context.Context, all []mutant, stdout io.Writer) error {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.testPackage], m.test) {
			tests[m.testPackage] = append(tests[m.testPackage], m.test)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprintf(stdout, "%s: %d tests on the code as it is\n", folder, len(tests[folder]))
		if output, err := goTest(ctx, folder, strings.Join(tests[folder], "|"), ""); err != nil {
			return fmt.Errorf("a test of %s already fails on the unchanged code: make the tests pass first\n%s", folder, output)
		}
	}
	return nil
}

// try runs the mutant's test on the code with the mutant's changes. The verdict is "killed" if the test fails, and "ALIVE" if
// the test passes. It is "NO FIT" if a change does not fit the code, and "BROKEN" if the changed code does not compile. For
// the last two verdicts, `output` says why.
func (m mutant) try(ctx context.Context) (verdict, output string, err error) {
	changed, err := m.apply(".")
	if err != nil {
		return "NO FIT", err.Error() + "\n", nil
	}
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(folder)
	replace := map[string]string{}
	for file, text := range changed {
		source, err := filepath.Abs(file)
		if err != nil {
			return "", "", err
		}
		replace[source] = filepath.Join(folder, fmt.Sprint(len(replace), ".go"))
		if err := os.WriteFile(replace[source], text, 0o600); err != nil {
			return "", "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", "", err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", "", err
	}
	output, failed := goTest(ctx, m.testPackage, m.test, file)
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case failed == nil:
		return "ALIVE", "", nil
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"), strings.Contains(output, "e2e: go build"):
		return "BROKEN", output, nil
	}
	return "killed", "", nil
}

// goTest runs tests of the package in a folder. It runs the tests whose whole name matches the regular expression `tests`. If
// `overlay` is not empty, it is the path of an overlay file for the flag -overlay of the go command. goTest returns the whole
// output of the go command. It returns an error if a test fails or cannot be built.
func goTest(ctx context.Context, folder, tests, overlay string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", folder, "-run", "^("+tests+")$", "-count=1", "-failfast", "-vet=off")
	// The variable, and not flags, because e2e tests build the worker and the starter themselves. Each mutant links new programs, and
	// that takes less time without debug information.
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -ldflags=-w")
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	// Many mutants make a test wait in vain, so less patience saves time. The tests on the unchanged code must pass with it, too.
	cmd.Env = append(os.Environ(), "REAGENT_E2E_PATIENCE=45s", "GOFLAGS="+flags)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
