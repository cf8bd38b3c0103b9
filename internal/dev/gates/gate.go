package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gate is one of the large proofs. It consists of parts, which are calls of make with one target. Each part has a result of its own, so
// a gate that was stopped goes on with its next part.
type gate struct {
	name    string // also the target of the Makefile
	about   string
	set     []variable // the variables of make that a user may change, with their defaults
	parts   split
	reads   reads // what the parts depend on, unless a part says it itself
	figures []figure
	// together is true if parts mostly wait, so that several of them may run at the same time.
	together bool
}

type variable struct{ name, value string }

func (v variable) String() string { return v.name + "=" + v.value }

// part is a call of make: the target of a gate and the values of variables. Its text is its identity in the state.
type part struct {
	set   []variable
	reads reads
}

func (p part) String() string {
	var words []string
	for _, v := range p.set {
		words = append(words, v.String())
	}
	return strings.Join(words, " ")
}

// split returns the parts of a gate for the source tree of `w`. `set` has the variables of the gate with the values that apply.
type split func(ctx context.Context, w *workspace, set []variable) ([]part, error)

func whole(_ context.Context, _ *workspace, set []variable) ([]part, error) {
	return []part{{set: set}}, nil
}

// over returns a split with one part for each value of a variable.
func over(name string, values ...string) split {
	return func(_ context.Context, _ *workspace, set []variable) ([]part, error) {
		var all []part
		for _, value := range values {
			all = append(all, part{set: append(slices.Clone(set), variable{name, value})})
		}
		return all, nil
	}
}

// listed returns a split with one part for each value that a target of the Makefile prints, one in a line. Behind a tab, the line has what
// the part depends on: see [reads].
func listed(name, target string) split {
	return func(ctx context.Context, w *workspace, set []variable) ([]part, error) {
		cmd := exec.CommandContext(ctx, "make", "--silent", target)
		cmd.Dir, cmd.Env = w.dir, w.environ()
		out, err := cmd.Output()
		if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec.Cmd.Output wraps nothing
			return nil, fmt.Errorf("make %s: %w\n%s", target, err, failed.Stderr)
		}
		if err != nil {
			return nil, err
		}
		var all []part
		for line := range strings.Lines(string(out)) {
			value, needed, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			all = append(all, part{append(slices.Clone(set), variable{name, value}), strings.Fields(needed)})
		}
		return all, nil
	}
}

// firstSeed is the variable with the first seed of a gate. The default comes from a hash of the files on which the gate depends, so
// a gate that goes on uses the same seeds, and a gate on changed code uses others.
const firstSeed = "REAGENT_SEED"

// seeded returns a split with one part, whose random choices depend on [firstSeed].
func seeded(r ...string) split {
	return func(ctx context.Context, w *workspace, set []variable) ([]part, error) {
		seed, err := w.seed(ctx, r)
		return []part{{set: slices.Concat(set, []variable{{firstSeed, strconv.FormatUint(seed, 10)}})}}, err
	}
}

// seeds returns a split with one part for each seed. The variable with the given name has the number of seeds; it is 1 in each
// part.
func seeds(name string, r ...string) split {
	return func(ctx context.Context, w *workspace, set []variable) ([]part, error) {
		first, err := w.seed(ctx, r)
		if err != nil {
			return nil, err
		}
		var all []part
		at := slices.IndexFunc(set, func(v variable) bool { return v.name == name })
		count, err := strconv.ParseUint(set[at].value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a number of seeds; write one such as 100", name, set[at].value)
		}
		for i := range count {
			each := append(slices.Clone(set), variable{firstSeed, strconv.FormatUint(first+i, 10)})
			each[at].value = "1"
			all = append(all, part{set: each})
		}
		return all, nil
	}
}

// figure is a number in the output of the parts. If the pattern has a group, the group is the number. If it has none, each match
// counts as 1.
type figure struct {
	name    string
	pattern *regexp.Regexp
	// last is true for numbers that grow while a part runs: only the last one counts. If last is false, the figure is the sum.
	last bool
}

func sum(name, pattern string) figure {
	return figure{name: name, pattern: regexp.MustCompile("(?m)" + pattern)}
}

func last(name, pattern string) figure {
	return figure{name: name, pattern: regexp.MustCompile("(?m)" + pattern), last: true}
}

func (f figure) of(output []byte) int {
	n := 0
	for _, match := range f.pattern.FindAllSubmatch(output, -1) {
		value := 1
		if len(match) > 1 {
			value, _ = strconv.Atoi(string(match[1])) // the pattern matches only digits
		}
		if f.last {
			n = 0
		}
		n += value
	}
	return n
}
