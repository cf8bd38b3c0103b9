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

// table is the file with the results of all gates. It is not part of the source tree whose results it has, so a new result does not
// make the old ones stale.
const table = "docs/gates.md"

type workspace struct {
	dir    string
	root   string // the absolute path of dir, without symbolic links
	first  uint64 // the first seed that a user has chosen; 0 means none
	commit string
	clean  bool // no file differs from the commit
	// packages has the folders of all packages. needed has the results of [workspace.folders], by its patterns. Both are nil before
	// the first call.
	packages map[string]bool
	needed   map[string]map[string]bool
}

func openWorkspace(ctx context.Context, dir string) (*workspace, error) {
	w := &workspace{dir: dir}
	var err error
	if w.root, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if w.root, err = filepath.EvalSymlinks(w.root); err != nil {
		return nil, err
	}
	if w.commit, err = w.git(ctx, "rev-parse", "--short=10", "HEAD"); err != nil {
		return nil, err
	}
	changed, err := w.git(ctx, append([]string{"status", "--porcelain"}, contentPaths...)...)
	w.clean = changed == ""
	return w, err
}

// contentPaths selects the files of the source tree. It leaves out the documentation, because the outcome of no gate depends on it,
// and the files that a failing fuzz test writes, because its failure must not end the other gates.
var contentPaths = []string{"--", ".", ":(exclude)docs", ":(exclude,glob)*.md", ":(exclude,glob)**/testdata/fuzz/**"}

// writeTree writes all present files to git's store as one tree, and returns the name of the tree. It does not change the user's index.
func (w *workspace) writeTree(ctx context.Context) (string, error) {
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

func (w *workspace) seed(ctx context.Context, r reads) (uint64, error) {
	if w.first > 0 {
		return w.first, nil
	}
	content, err := w.content(ctx, r)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(content[:8], 16, 64)
	return 1 + n%1_000_000, err
}

// environ returns the environment of the parts, without the variables of the make that has started this program: a part must do the
// same as the command that is printed for it.
func (w *workspace) environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "GATES"}, name)
	})
}

func (w *workspace) described() string {
	if w.clean {
		return w.commit
	}
	return w.commit + " + changes"
}
