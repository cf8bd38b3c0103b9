package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

type result struct {
	Gate    string         `json:"gate"`
	Part    string         `json:"part"`
	Content string         `json:"content"` // a hash of what the part depends on: see [reads]
	Command string         `json:"command"` // runs the part again
	Commit  string         `json:"commit"`
	Passed  bool           `json:"passed"`
	Began   time.Time      `json:"began"`
	Took    time.Duration  `json:"took"` // in nanoseconds
	Figures map[string]int `json:"figures,omitempty"`
	// Log is the file with the output of the part, below the root of the source tree.
	Log string `json:"log"`
}

// state has the results of all parts. They are also in a file, one in each line, in the order in which the parts ended. Each line
// is written as soon as its part has ended, so a crash loses no earlier result. If the file is committed, another checkout can
// continue.
type state struct {
	path    string
	results []result
}

const resultsFile = "docs/gates.jsonl"

const logFolder = "bin/gates"

func openState(w *workspace) (*state, error) {
	s := &state{path: filepath.Join(w.dir, resultsFile)}
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Content != "" { // else the program died while it wrote the line
			s.results = append(s.results, r)
		}
	}
	return s, lines.Err()
}

// of returns the newest result of a part with the given content, and how often the part has failed with this content. `ok` is false
// if the part has no result.
func (s *state) of(g gate, p part, content string) (r result, failures int, ok bool) {
	for _, each := range s.results {
		if each.Gate != g.name || each.Part != p.String() || each.Content != content {
			continue
		}
		if r, ok = each, true; !r.Passed {
			failures++
		}
	}
	return r, failures, ok
}

// put stores a result. The line begins with a line feed, because the program may have died while it wrote the line before.
func (s *state) put(r result) error {
	s.results = append(s.results, r)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString("\n" + string(line))
	return errors.Join(err, file.Close())
}

// forget removes all results of a gate that were made with old content. `contents` has the present content of each part.
func (s *state) forget(g gate, contents []string) error {
	stale := func(r result) bool { return r.Gate == g.name && !slices.Contains(contents, r.Content) }
	if !slices.ContainsFunc(s.results, stale) {
		return nil
	}
	s.results = slices.DeleteFunc(s.results, stale)
	var text bytes.Buffer
	for _, r := range s.results {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	next := s.path + ".new"
	if err := os.WriteFile(next, text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, s.path)
}
