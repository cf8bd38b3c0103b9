package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// subject is what the demo's question is about: the files of a folder.
type subject struct {
	// root is the folder that the tools may read.
	root string
	// question is the agent's task.
	question string
	// search is what the stand-in looks for first, file what it has read, suffix what it has measured.
	search, file, suffix string
}

const ourModule = "github.com/reagent-dev/reagent"

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)\s*$`)

// subjectHere is about the checkout of this project that the current folder belongs to, else about
// the current folder.
func subjectHere() (subject, error) {
	here, err := os.Getwd()
	if err != nil {
		return subject{}, fmt.Errorf("the current folder: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if m := moduleLine.FindSubmatch(data); err == nil && m != nil && string(m[1]) == ourModule {
			return subject{
				root:     dir,
				question: "What keeps a tool of Reagent from doing its work twice? Look into the files, publish one sentence on it, and measure the Go code.",
				search:   "func .*[kK]ey\\(", file: "agent/key.go", suffix: ".go",
			}, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	s := subject{
		root:     here,
		question: "What is in this folder? Look into one of its files, publish one sentence on it, and measure the files of that kind.",
	}
	if s.file, err = firstText(here); err != nil {
		return subject{}, err
	}
	s.suffix = filepath.Ext(s.file)
	return s, nil
}

// firstText returns the name of a file for the stand-in to read: a README, else the first
// that may be one.
func firstText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("the current folder: %w", err)
	}
	first := ""
	for _, e := range entries {
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if strings.HasPrefix(strings.ToLower(e.Name()), "readme") {
			return e.Name(), nil
		}
		if first == "" {
			first = e.Name()
		}
	}
	if first == "" {
		return "", errors.New("the current folder has no files that the demo's agent could read: run it in another, such as a checkout of Reagent")
	}
	return first, nil
}
