package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// table is the file with the results of all gates. It is no part of the source tree whose results it has.
const table = "docs/gates.md"

// workspace is a checkout of the project.
type workspace struct {
	dir    string
	first  uint64 // the first seed that a user has chosen; 0 means none
	tree   string // names the content of all files, except those that git ignores, [table], and inputs that fuzz tests have found
	commit string
	clean  bool // no file differs from the commit
}

func openWorkspace(ctx context.Context, dir string) (*workspace, error) {
	w := &workspace{dir: dir}
	var err error
	if w.tree, err = w.content(ctx); err != nil {
		return nil, err
	}
	if w.commit, err = w.git(ctx, "rev-parse", "--short=10", "HEAD"); err != nil {
		return nil, err
	}
	changed, err := w.git(ctx, append([]string{"status", "--porcelain"}, contentPaths...)...)
	w.clean = changed == ""
	return w, err
}

// contentPaths selects the files of the source tree. A fuzz test that fails writes a file, and its failure must not end the other gates.
var contentPaths = []string{"--", ".", ":(exclude)" + table, ":(exclude,glob)**/testdata/fuzz/**"}

// content returns git's name of the tree that a commit of all present files would have. It uses an index of its own, so that the user's
// index stays as it is.
func (w *workspace) content(ctx context.Context) (string, error) {
	folder, err := os.MkdirTemp("", "gates")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	index := "GIT_INDEX_FILE=" + filepath.Join(folder, "index")
	if _, err := w.git(ctx, append([]string{index, "add", "--all"}, contentPaths...)...); err != nil {
		return "", err
	}
	return w.git(ctx, index, "write-tree")
}

// git runs a git command, and returns its output without white space at the ends. Arguments before the command that have the form
// NAME=value are environment variables.
func (w *workspace) git(ctx context.Context, args ...string) (string, error) {
	env := os.Environ()
	for strings.Contains(args[0], "=") {
		env, args = append(env, args[0]), args[1:]
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = w.dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

// seed returns the first seed of the gates with random choices.
func (w *workspace) seed() uint64 {
	if w.first > 0 {
		return w.first
	}
	n, _ := strconv.ParseUint(w.tree[:min(8, len(w.tree))], 16, 64) // git's names are hexadecimal
	return 1 + n%1_000_000
}

// environ returns the environment of the parts. It has no variables of the make that has started this program, because a part must do the
// same as the command that is printed for it.
func (w *workspace) environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "GATES"}, name)
	})
}

// described returns the commit, and says if files differ from it.
func (w *workspace) described() string {
	if w.clean {
		return w.commit
	}
	return w.commit + " + changes"
}
