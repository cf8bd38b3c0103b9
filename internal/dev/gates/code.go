package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// withoutComments returns a hash of the tokens of a Go file, so that a change of a comment leaves the results of gates valid. Directives
// count, because they change what the compiler does. It returns "" for every other file, and for a test, whose comments may be output that
// is expected.
func (w *workspace) withoutComments(name string) (string, error) {
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return "", err
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(name, files.Base(), len(text)), text, nil, scanner.ScanComments)
	sum := sha256.New()
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return hex.EncodeToString(sum.Sum(nil))[:40], nil
		case kind != token.COMMENT || directive(literal):
			fmt.Fprintln(sum, kind, literal)
		}
	}
}

func directive(comment string) bool {
	for _, prefix := range []string{"//go:", "//export ", "//line ", "/*line ", "// +build"} {
		if strings.HasPrefix(comment, prefix) {
			return true
		}
	}
	return false
}
