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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/shellword"
)

var errFailed = errors.New("not all gates have passed")

type runner struct {
	*workspace
	*state
	stdout io.Writer
	json   bool // one JSON object in a line for each part and each gate, in place of text
	again  bool // run parts again that have passed
	jobs   int  // how many parts of a gate run at the same time, if they may

	mu sync.Mutex // protects the state and a line of the output
}

// run runs the given gates, one after the other. A gate that fails does not end the others. An error other than [errFailed] means
// that the gates could not go on.
func (r *runner) run(ctx context.Context, all []gate) error {
	r.sayf("commit %s, results in %s\n", r.described(), resultsFile)
	failed := false
	for _, g := range all {
		parts, contents, err := r.partsOf(ctx, g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err := r.forget(g, contents); err != nil {
			return err
		}
		err = r.runParts(ctx, g, parts, contents)
		total, begun := conclude(r.workspace, r.state, g, parts, contents)
		if begun {
			err = errors.Join(err, record(r.workspace, total))
		}
		if err != nil {
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

func (w *workspace) partsOf(ctx context.Context, g gate) (parts []part, contents []string, err error) {
	parts, err = g.parts(ctx, w, slices.Clone(g.set))
	if err == nil && len(parts) == 0 {
		err = errors.New("it has no parts; check what its target of the Makefile lists, and its variables")
	}
	if err != nil {
		return nil, nil, err
	}
	for i, p := range parts {
		if len(p.reads) == 0 {
			parts[i].reads = g.reads
		}
	}
	contents, err = w.contents(ctx, g.name, parts)
	return parts, contents, err
}

func (r *runner) runParts(ctx context.Context, g gate, parts []part, contents []string) error {
	var open []int
	for i, p := range parts {
		if known, _, ok := r.of(g, p, contents[i]); !ok || !known.Passed || r.again {
			open = append(open, i)
		}
	}
	if n := len(parts) - len(open); n > 0 {
		r.sayf("%s: %d of %d parts have passed before\n", g.name, n, len(parts))
	}
	progress := &progress{began: time.Now(), parts: len(parts), open: len(open)}
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(1)
	if g.together {
		running.SetLimit(r.jobs)
	}
	for done, i := range open {
		running.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.runPart(ctx, progress, g, parts[i], contents[i], len(parts)-len(open)+done+1)
		})
	}
	return running.Wait()
}

type progress struct {
	began             time.Time
	parts, open, done int // all parts, those that had not passed before, and those of them that have ended
}

func (p *progress) left() string {
	left := p.open - p.done
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("; %d left, about %v", left, (time.Since(p.began) / time.Duration(p.done) * time.Duration(left)).Round(time.Minute))
}

func (r *runner) runPart(ctx context.Context, all *progress, g gate, p part, content string, number int) error {
	name := fmt.Sprintf("%s %d/%d %s", g.name, number, all.parts, p)
	r.sayf("%s  %s\n", time.Now().Format(time.TimeOnly), name)
	res, err := r.try(ctx, g, p, content)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.put(res)
	}
	if err != nil {
		return err
	}
	all.done++
	outcome := "passed"
	if !res.Passed {
		outcome = "FAILED, see " + res.Log + ","
	}
	r.report(res, fmt.Sprintf("%s  %s: %s in %v%s\n", time.Now().Format(time.TimeOnly), name, outcome, res.Took.Round(100*time.Millisecond), all.left()))
	return nil
}

// try runs one part. With an error, the part has no result: the program was stopped, or a file on which the part depends has
// changed in the meantime.
func (r *runner) try(ctx context.Context, g gate, p part, content string) (result, error) {
	args, words := []string{"--no-print-directory", g.name}, []string{"make", g.name}
	for _, v := range p.set {
		// Make would expand a dollar sign.
		args = append(args, v.name+"="+strings.ReplaceAll(v.value, "$", "$$"))
		words = append(words, v.name+"="+shellword.Quote(strings.ReplaceAll(v.value, "$", "$$")))
	}
	res := result{
		Gate: g.name, Part: p.String(), Content: content, Command: strings.Join(words, " "), Commit: r.described(), Began: time.Now(), Log: logFile(g, p, content),
	}
	if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(res.Log)), 0o755); err != nil {
		return res, err
	}
	log, err := os.Create(filepath.Join(r.dir, res.Log))
	if err != nil {
		return res, err
	}
	defer log.Close()
	cmd := exec.Command("make", args...) //nolint:noctx // a part is a call of make; the group ends with ctx
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
	if now, err := r.contents(ctx, g.name, []part{p}); err != nil || now[0] != content {
		return res, errors.Join(err, errors.New("the source tree has changed while the gate ran: run the gates again, for the new tree"))
	}
	output, err := os.ReadFile(log.Name())
	res.Figures = map[string]int{}
	for _, f := range g.figures {
		res.Figures[f.name] = f.of(output)
	}
	return res, err
}

func logFile(g gate, p part, content string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.String()))
	return filepath.Join(logFolder, fmt.Sprintf("%s-%08x-%.10s.log", g.name, h.Sum32(), content))
}

func (r *runner) sayf(format string, args ...any) {
	if !r.json {
		fmt.Fprintf(r.stdout, format, args...)
	}
}

func (r *runner) report(result any, text string) {
	if !r.json {
		fmt.Fprint(r.stdout, text)
		return
	}
	_ = json.NewEncoder(r.stdout).Encode(result)
}
