package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// listed is what `go list` prints about a package.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles               []string
	ImportMap             map[string]string // from the path in the source to that of the package, where they differ
	Module                *struct{ GoVersion string }
	Error                 *struct{ Err string }
}

// checker checks packages, each after those that it imports.
type checker struct {
	platform platform
	files    *token.FileSet
	done     map[string]*types.Package // by import path
}

// check checks the types of packages and of their tests. The error has a line for each mistake.
func (p platform) check(ctx context.Context, patterns ...string) error {
	// -deps prints each package after those that it imports.
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-deps", "-test", "-json=Dir,ImportPath,Name,GoFiles,ImportMap,Module,Error"}, patterns...)...)
	cmd.Env = append(os.Environ(), "GOOS="+p.system, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	c := &checker{platform: p, files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	var mistakes []error
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := list.Decode(&l); errors.Is(err, io.EOF) {
			return errors.Join(mistakes...)
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		mistakes = append(mistakes, c.add(l)...)
	}
}

// add checks a package, and returns the mistakes if it is one of ours.
func (c *checker) add(l listed) []error {
	if l.ImportPath == "unsafe" || l.Name == "main" && strings.HasSuffix(l.ImportPath, ".test") {
		return nil // the program of the tests is in a file that `go test` writes
	}
	var mistakes []error
	found := func(err error) { mistakes = append(mistakes, err) }
	ours := c.platform.has(l.ImportPath)
	config := types.Config{
		Importer:         importer{c, l.ImportMap},
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		IgnoreFuncBodies: !ours,
		Error:            found,
	}
	if l.Error != nil {
		found(errors.New(l.Error.Err))
	}
	if l.Module != nil && l.Module.GoVersion != "" {
		config.GoVersion = "go" + l.Module.GoVersion
	}
	var files []*ast.File
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			found(err)
			continue
		}
		files = append(files, file)
	}
	path, _, _ := strings.Cut(l.ImportPath, " ")
	c.done[l.ImportPath], _ = config.Check(path, c.files, files, nil) // the error is the first of the mistakes
	if !ours {
		return nil
	}
	return mistakes
}

// importer finds the packages that a package imports.
type importer struct {
	*checker
	renamed map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.renamed[path]; ok {
		path = to
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("there is no package %s for %s", path, i.platform.system)
}
