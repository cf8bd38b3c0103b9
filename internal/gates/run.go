package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// errFailed says that a gate has failed. The lines above it say which.
var errFailed = errors.New("not all gates have passed")

// runner runs gates and reports about them.
type runner struct {
	*workspace
	*state
	stdout io.Writer
	json   bool // one JSON object in a line for each part and each gate, in place of text
	again  bool // run parts again that have passed
}

// run runs the given gates, one after the other. A gate that fails does not end the others. An error other than [errFailed] says that the
// gates could not go on.
func (r *runner) run(ctx context.Context, all []gate) error {
	r.sayf("source tree %.10s (commit %s), results in %s\n", r.tree, r.described(), filepath.Join(stateFolder, filepath.Base(r.path)))
	failed := false
	for _, g := range all {
		parts, err := g.parts(ctx, r.workspace, slices.Clone(g.set))
		if err == nil && len(parts) == 0 {
			err = errors.New("it has no parts")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err := r.runParts(ctx, g, parts); err != nil {
			return err
		}
		total, _ := conclude(r.workspace, r.state, g, parts)
		if err := record(r.workspace, total); err != nil {
			return err
		}
		failed = failed || !total.Passed
		r.report(total, fmt.Sprintf("%s: %s in %v: %s\n", g.name, total.Outcome, total.Took.Round(time.Second), total.figures()))
		for _, command := range total.Again {
			r.sayf("  see it again: %s\n", command)
		}
	}
	if failed {
		return errFailed
	}
	return nil
}

// runParts runs those parts of a gate that have not passed yet.
func (r *runner) runParts(ctx context.Context, g gate, parts []part) error {
	open := slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		known, _, ok := r.of(g, p)
		return ok && known.Passed && !r.again
	})
	if n := len(parts) - len(open); n > 0 {
		r.sayf("%s: %d of %d parts have passed before\n", g.name, n, len(parts))
	}
	began := time.Now()
	for i, p := range open {
		r.sayf("%s  %s %d/%d  %s … ", time.Now().Format(time.TimeOnly), g.name, len(parts)-len(open)+i+1, len(parts), p)
		res, err := r.try(ctx, g, p)
		if err != nil {
			r.sayf("stopped\n")
			return err
		}
		if err := r.put(res); err != nil {
			return err
		}
		outcome := "passed"
		if !res.Passed {
			outcome = "FAILED, see " + res.Log + ","
		}
		elapsed, left := time.Since(began), len(open)-i-1
		text := fmt.Sprintf("%s in %v", outcome, res.Took.Round(100*time.Millisecond))
		if left > 0 {
			text += fmt.Sprintf("; %d left, about %v", left, (elapsed / time.Duration(i+1) * time.Duration(left)).Round(time.Minute))
		}
		r.report(res, text+"\n")
	}
	return nil
}

// try runs one part. The error says that the part has no result: the program was stopped, or the source tree has changed meanwhile.
func (r *runner) try(ctx context.Context, g gate, p part) (result, error) {
	args, words := []string{"--no-print-directory", g.name}, []string{"make", g.name}
	for _, v := range p {
		// Make would expand a dollar sign.
		args = append(args, v.name+"="+strings.ReplaceAll(v.value, "$", "$$"))
		words = append(words, v.name+"="+shellword.Quote(strings.ReplaceAll(v.value, "$", "$$")))
	}
	res := result{Gate: g.name, Part: p.String(), Command: strings.Join(words, " "), Commit: r.described(), Began: time.Now(), Log: r.log(g, p)}
	if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(res.Log)), 0o755); err != nil { //nolint:gosec // like the rest of the tree
		return res, err
	}
	log, err := os.Create(filepath.Join(r.dir, res.Log))
	if err != nil {
		return res, err
	}
	defer log.Close()
	cmd := exec.Command("make", args...) //nolint:gosec,noctx // a part is a call of make; the group ends with ctx
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.environ(), log, log
	group, err := processgroup.Start(cmd)
	if err != nil {
		return res, err
	}
	select {
	case <-ctx.Done():
		group.Kill()
		<-group.Ended()
		return res, context.Cause(ctx)
	case <-group.Ended():
	}
	res.Took, res.Passed = time.Since(res.Began), group.Wait() == nil
	if now, err := r.content(ctx); err != nil || now != r.tree {
		return res, errors.Join(err, errors.New("the source tree has changed while the gate ran: run the gates again, for the new tree"))
	}
	output, err := os.ReadFile(log.Name())
	res.Figures = map[string]int{}
	for _, f := range g.figures {
		res.Figures[f.name] = f.of(output)
	}
	return res, err
}

// log returns the path of the log file of a part, below the root of the source tree.
func (r *runner) log(g gate, p part) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.String()))
	return filepath.Join(stateFolder, r.tree[:min(10, len(r.tree))], fmt.Sprintf("%s-%08x.log", g.name, h.Sum32()))
}

// sayf prints progress for people.
func (r *runner) sayf(format string, args ...any) {
	if !r.json {
		fmt.Fprintf(r.stdout, format, args...)
	}
}

// report prints a result: as a line of JSON, or as the given text.
func (r *runner) report(result any, text string) {
	if !r.json {
		fmt.Fprint(r.stdout, text)
		return
	}
	_ = json.NewEncoder(r.stdout).Encode(result)
}
