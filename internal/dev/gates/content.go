package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reads lists what the outcome of a part depends on. A word that begins with "." is a pattern of the go command for the packages
// whose tests run; the outcome also depends on everything that these packages import. Every other word is the path of a file. An
// empty list means the whole source tree.
type reads []string

var everywhere = []string{"go.mod", "go.sum"}

// rule returns the lines of the Makefile that may change what a target does: its rule, and all lines that set variables.
func (w *workspace) rule(target string) (string, error) {
	text, err := os.ReadFile(filepath.Join(w.dir, "Makefile"))
	if err != nil {
		return "", err
	}
	var rule strings.Builder
	of := "" // the target of the rule in which the line is
	for line := range strings.Lines(string(text)) {
		name, _, isRule := strings.Cut(line, ":")
		switch {
		case assigns.MatchString(line):
			of = ""
			rule.WriteString(line)
		case isRule && !strings.HasPrefix(line, "\t"):
			of = name
		}
		if of == target {
			rule.WriteString(line)
		}
	}
	return rule.String(), nil
}

// assigns matches a line of the Makefile that sets a variable, perhaps for some targets only.
var assigns = regexp.MustCompile(`^[^\t#]*[?:+]?= `)

// content returns a hash of all files that `r` names in the present source tree, without the tests of packages that are only
// imported.
func (w *workspace) content(ctx context.Context, r reads) (string, error) {
	contents, err := w.contents(ctx, "", []part{{reads: r}})
	if err != nil {
		return "", err
	}
	return contents[0], nil
}

// contents returns a hash of what each of the parts depends on: the files of [workspace.content], and the rule of the target.
func (w *workspace) contents(ctx context.Context, target string, parts []part) ([]string, error) {
	files, err := w.files(ctx)
	if err != nil {
		return nil, err
	}
	rule, err := w.rule(target)
	if err != nil {
		return nil, err
	}
	contents := make([]string, len(parts))
	for i, p := range parts {
		if contents[i], err = w.hash(ctx, files, p.reads, rule); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

func (w *workspace) hash(ctx context.Context, files []file, r reads, text string) (string, error) {
	var patterns, chosen []string
	for _, word := range r {
		if strings.HasPrefix(word, ".") {
			patterns = append(patterns, word)
		} else {
			chosen = append(chosen, word)
		}
	}
	has := func(string) bool { return true }
	if len(r) > 0 {
		needed, err := w.folders(ctx, patterns)
		if err != nil {
			return "", err
		}
		has = func(file string) bool {
			if slices.Contains(chosen, file) || slices.Contains(everywhere, file) {
				return true
			}
			tested, needed := needed[w.packageOf(file)]
			return needed && (tested || !strings.HasSuffix(file, "_test.go"))
		}
	}
	sum := sha256.New()
	fmt.Fprintln(sum, text)
	for _, f := range files {
		if has(f.path) {
			fmt.Fprintln(sum, f.hash, f.path)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:20], nil
}

// file names a file of the source tree, and has a hash of what counts of its content: see [workspace.withoutComments]. For other files, it is
// that of git.
type file struct{ path, hash string }

func (w *workspace) files(ctx context.Context) ([]file, error) {
	tree, err := w.writeTree(ctx)
	if err != nil {
		return nil, err
	}
	list, err := w.git(ctx, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return nil, err
	}
	var files []file
	for line := range strings.SplitSeq(list, "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(about); ok && len(fields) == 3 {
			code, err := w.withoutComments(name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name, cmp.Or(code, fields[2])})
		}
	}
	return files, nil
}

// folders returns the folders of the packages that the patterns name, and of the packages of this module that these import. The
// value is true for the packages that the patterns name.
func (w *workspace) folders(ctx context.Context, patterns []string) (map[string]bool, error) {
	key := strings.Join(patterns, " ")
	if known, ok := w.needed[key]; ok {
		return known, nil
	}
	if w.packages == nil {
		all, err := w.goList(ctx, "./...")
		if err != nil {
			return nil, err
		}
		w.packages, w.needed = map[string]bool{}, map[string]map[string]bool{}
		for _, folder := range all {
			w.packages[folder] = true
		}
	}
	imported, err := w.goList(ctx, append([]string{"-deps", "-test"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	tested, err := w.goList(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, folder := range imported {
		if w.packages[folder] {
			needed[folder] = false
		}
	}
	for _, folder := range tested {
		needed[folder] = true
	}
	w.needed[key] = needed
	return needed, nil
}

// goList returns the folders of packages. A path is relative to the root of the source tree, or absolute if the package is outside of it.
func (w *workspace) goList(ctx context.Context, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-tags", "faults", "-f", "{{.Dir}}"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	out, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec.Cmd.Output wraps nothing
		return nil, fmt.Errorf("go list: %w\n%s", err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var folders []string
	for folder := range strings.Lines(string(out)) {
		folder = strings.TrimSpace(folder)
		if below, ok := strings.CutPrefix(folder+"/", w.root+"/"); ok {
			folder = path.Clean("./" + below)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// packageOf returns the folder of the package to which a file belongs: the nearest one above it.
func (w *workspace) packageOf(file string) string {
	folder := path.Dir(file)
	for folder != "." && !w.packages[folder] {
		folder = path.Dir(folder)
	}
	return folder
}
