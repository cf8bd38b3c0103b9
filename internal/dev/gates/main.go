// Command gates runs the large proofs of the project, one after the other, and writes their results to docs/gates.md. If it is stopped, the
// next call goes on where it was.
//
// Run it in the root of the source tree, as `make gates` does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], gates, os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "gates:", err)
		os.Exit(1)
	}
}

const help = `gates runs the large gates of the project and writes their results to ` + table + `.

  make gates                                   run all gates, or go on with them
  make gates GATES=mutants,chaos               run only some
  make gates GATES="chaos CHAOS=10"            set a variable of a gate
  make gates GATES="--again soak"              run parts again that have passed
  make gates GATES="--jobs 2 mutants,chaos"    two mutants, or two seeds, at the same time
  make gates GATES="--json attacks"            one line of JSON for each part and each gate

A gate has parts, such as a mutant or a seed. A part that has passed runs again only if a file of a package
that it tests has changed, or a file of a package that these import. A part that has failed runs again with
the next call. The gates after it run, too; at the end, the exit code is 1.
The results of the parts are in ` + resultsFile + `, and their output is in ` + logFolder + `.

Flags:
  --again   run parts again that have passed
  --jobs N  run up to N mutants, or seeds of chaos, at the same time
  --json    print one line of JSON for each part and each gate
  --list    list the gates and their parts, and what is known of them

Gates:
`

func run(ctx context.Context, args []string, all []gate, stdout io.Writer) error {
	flags := flag.NewFlagSet("gates", flag.ContinueOnError)
	flags.SetOutput(stdout)
	again := flags.Bool("again", false, "")
	lines := flags.Bool("json", false, "")
	jobs := flags.Int("jobs", 1, "")
	list := flags.Bool("list", false, "")
	flags.Usage = func() {
		fmt.Fprint(stdout, help)
		for _, g := range all {
			fmt.Fprintf(stdout, "  %-17s %s", g.name, g.about)
			for _, v := range g.set {
				fmt.Fprintf(stdout, "; %s", v)
			}
			fmt.Fprintln(stdout)
		}
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	w, err := openWorkspace(ctx, ".")
	if err != nil {
		return err
	}
	chosen, err := choose(w, all, flags.Args())
	if err != nil {
		return err
	}
	s, err := openState(w)
	if err != nil {
		return err
	}
	r := &runner{workspace: w, state: s, stdout: stdout, json: *lines, again: *again, jobs: max(1, *jobs)}
	if *list {
		return r.list(ctx, chosen)
	}
	return r.run(ctx, chosen)
}

// choose returns the gates with the given names, in their order in the table of gates. Without names, it returns all gates. Words of the
// form NAME=value set a variable of the gates that have it.
func choose(w *workspace, all []gate, words []string) ([]gate, error) {
	var names []string
	set := map[string]string{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			set[name] = value
			continue
		}
		names = append(names, strings.FieldsFunc(word, func(r rune) bool { return r == ',' })...)
	}
	var chosen []gate
	for _, g := range all {
		if len(names) > 0 && !slices.Contains(names, g.name) {
			continue
		}
		g.set = slices.Clone(g.set)
		chosen = append(chosen, g)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(g gate) bool { return g.name == name }) {
			return nil, fmt.Errorf("there is no gate %q; --help lists the gates", name)
		}
	}
	for name, value := range set {
		if name == firstSeed {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil || n == 0 {
				return nil, fmt.Errorf("%s: %q is not a positive number; write one such as 1", name, value)
			}
			w.first = n
			continue
		}
		known := false
		for _, g := range chosen {
			for i := range g.set {
				if g.set[i].name == name {
					g.set[i].value, known = value, true
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("%s: none of these gates has this variable; --help lists the variables", name)
		}
	}
	return chosen, nil
}

func (r *runner) list(ctx context.Context, all []gate) error {
	for _, g := range all {
		parts, contents, err := r.partsOf(ctx, g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		for i, p := range parts {
			outcome := "open"
			known, _, ok := r.of(g, p, contents[i])
			if ok && known.Passed {
				outcome = "passed"
			} else if ok {
				outcome = "FAILED"
			}
			fmt.Fprintf(r.stdout, "%-7s %s  %s\n", outcome, g.name, p)
		}
	}
	return nil
}
