package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a change that breaks the code, and the test that must then fail. The file of a mutant has, in this order:
//   - the title, in one line
//   - rows: the rows of docs/failures.md to which the mutant belongs
//   - test: the package and the name of the test that must fail
//   - in: the folder and the declaration to change, such as "agent State.dropChildren"
//   - lines that begin with "-": the Go text to find in the declaration
//   - lines that begin with "+": the text that replaces the found text
//
// A mutant may change several declarations, and may change a declaration in several places.
//
// The text to find is compared token by token, without comments and white space. It must occur once in the declaration.
type mutant struct {
	name, title string
	rows        []string
	testPackage string
	test        string
	changes     []change
}

type change struct {
	folder       string // of the package, below the root of the tree
	symbol       string // the declaration: "Name", or "Type.Name" for a method
	old, changed string
}

func read(file string) (mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
	var in change
	adds := true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case m.title == "":
			m.title = line
		case strings.HasPrefix(line, "-"):
			if adds {
				m.changes = append(m.changes, in)
			}
			adds = false
			m.changes[len(m.changes)-1].old += line[1:] + "\n"
		case strings.HasPrefix(line, "+") && len(m.changes) > 0:
			adds = true
			m.changes[len(m.changes)-1].changed += line[1:] + "\n"
		case key == "rows":
			m.rows = strings.Fields(value)
		case key == "test":
			m.testPackage, m.test, _ = strings.Cut(value, " ")
		case key == "in":
			in.folder, in.symbol, _ = strings.Cut(value, " ")
		case line != "":
			return mutant{}, fmt.Errorf("%s: unknown line %q; a line begins with rows:, test:, in:, - or +", file, line)
		}
	}
	if len(m.rows) == 0 || m.test == "" || in.symbol == "" || len(m.changes) == 0 {
		return mutant{}, fmt.Errorf("%s: the mutant is incomplete: it needs a title, at least one change, and the fields \"rows\", \"test\" and \"in\"", file)
	}
	return m, nil
}

// apply returns the new content of the source files that the mutant changes. The keys of the map are the paths of the files.
// apply reads the files below the folder `root` and writes nothing. It returns an error if a change does not fit the code.
func (m mutant) apply(root string) (map[string][]byte, error) {
	changed := map[string][]byte{}
	for _, c := range m.changes {
		if err := c.apply(root, changed); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.name, c.symbol, err)
		}
	}
	return changed, nil
}

// apply replaces a text in the source file that declares `c.symbol`. It does not write the file, but stores the new content
// in the map `changed`, whose keys are paths of files. If an earlier change has stored the file in the map already, apply
// changes the stored content.
func (c change) apply(root string, changed map[string][]byte) error {
	files, err := filepath.Glob(filepath.Join(root, c.folder, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, known := changed[file]
		if !known {
			if text, err = os.ReadFile(file); err != nil {
				return err
			}
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			if !slices.Contains(names(decl), c.symbol) {
				continue
			}
			from, to := set.Position(decl.Pos()).Offset, set.Position(decl.End()).Offset
			body, err := c.replace(text[from:to])
			changed[file] = slices.Concat(text[:from], body, text[to:])
			return err
		}
	}
	return fmt.Errorf("the folder %s has no declaration with this name; correct the field 'in' of the mutant", c.folder)
}

func names(decl ast.Decl) []string {
	var all []string
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if decl.Recv != nil {
			receiver := decl.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			if ident, ok := receiver.(*ast.Ident); ok {
				name = ident.Name + "." + name
			}
		}
		all = append(all, name)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					all = append(all, name.Name)
				}
			case *ast.TypeSpec:
				all = append(all, spec.Name.Name)
			}
		}
	}
	return all
}

// replace replaces the text `c.old` by `c.changed` in `body`, the source text of a declaration. It returns the new source
// text. The texts are compared token by token. The result is an error if the declaration does not contain `c.old`, or
// contains it more than once.
func (c change) replace(body []byte) ([]byte, error) {
	all, old := tokens(body), tokens([]byte(c.old))
	at := -1
	for i := range len(all) - len(old) + 1 {
		if !slices.EqualFunc(all[i:i+len(old)], old, func(a, b lexeme) bool { return a.text == b.text }) {
			continue
		}
		if at >= 0 {
			return nil, fmt.Errorf("the text to replace occurs more than once in the declaration:\n%s", c.old)
		}
		at = i
	}
	if at < 0 || len(old) == 0 {
		return nil, fmt.Errorf("the text to replace does not occur in the declaration:\n%s", c.old)
	}
	return slices.Concat(body[:all[at].from], []byte(strings.TrimSpace(c.changed)), body[all[at+len(old)-1].to:]), nil
}

type lexeme struct {
	text     string
	from, to int // the offsets of the first byte and of the byte after the last
}

// tokens returns the tokens of a piece of Go source text. It omits comments, and the semicolons that Go inserts at line ends.
func tokens(text []byte) []lexeme {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, func(token.Position, string) {}, 0)
	var all []lexeme
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return all
		}
		if kind == token.SEMICOLON && literal != ";" {
			continue
		}
		if literal == "" || kind == token.SEMICOLON {
			literal = kind.String()
		}
		from := file.Offset(pos)
		all = append(all, lexeme{literal, from, from + len(literal)})
	}
}

func readAll(folder string, patterns []string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		m, err := read(file)
		if err != nil {
			return nil, err
		}
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { ok, _ := filepath.Match(p, m.name); return ok }) {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no mutant has a name that matches the arguments; the names are those of the files in internal/dev/mutants/testdata")
	}
	return all, nil
}
