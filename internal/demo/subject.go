package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// subject is the folder that the demo's question is about, with the question and the stand-in's choices.
type subject struct {
	// root is the folder that the tools may read.
	root string
	// question is the agent's task.
	question string
	// search is the pattern for which the stand-in searches; empty means that it does not search. file is the file that it reads.
	// suffix is the end of the names of the files that it measures.
	search, file, suffix string
}

// ourModule is the path of this project's Go module.
const ourModule = "github.com/reagent-dev/reagent"

// moduleLine matches the module directive of a go.mod file.
var moduleLine = regexp.MustCompile(`(?m)^module (\S+)\s*$`)

// subjectHere returns the subject for the current folder: the checkout of this project that contains the folder, else the folder
// itself.
func subjectHere() (subject, error) {
	here, err := os.Getwd()
	if err != nil {
		return subject{}, fmt.Errorf("find the current folder: %w", err)
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

// firstText returns the name of the file in dir that the stand-in reads: a README, else the first file that is not hidden or
// empty. If there is no such file, firstText returns an error.
func firstText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the current folder: %w", err)
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
