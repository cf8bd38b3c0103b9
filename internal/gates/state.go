package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// result is the outcome of one part.
type result struct {
	Gate    string         `json:"gate"`
	Part    string         `json:"part"`
	Command string         `json:"command"` // runs the part again
	Commit  string         `json:"commit"`
	Passed  bool           `json:"passed"`
	Began   time.Time      `json:"began"`
	Took    time.Duration  `json:"took"` // in nanoseconds
	Figures map[string]int `json:"figures,omitempty"`
	// Log is the file with the output of the part, below the root of the source tree.
	Log string `json:"log"`
}

// state has the results for one source tree. Its file has one line for each result, in the order in which the parts ended. A line is
// written when its part has ended, so that a crash loses no earlier result.
type state struct {
	path string
	// results has the newest result of each part. failures counts how often a part has failed.
	results  map[string]result
	failures map[string]int
}

// stateFolder is a folder that git ignores.
const stateFolder = "bin/gates"

func openState(w *workspace) (*state, error) {
	s := &state{path: filepath.Join(w.dir, stateFolder, w.tree+".jsonl"), results: map[string]result{}, failures: map[string]int{}}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return nil, err
	}
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
		if json.Unmarshal(lines.Bytes(), &r) == nil { // else the program died while it wrote the line
			s.know(r)
		}
	}
	return s, lines.Err()
}

func (s *state) know(r result) {
	key := r.Gate + "\x00" + r.Part
	s.results[key] = r
	if !r.Passed {
		s.failures[key]++
	}
}

// of returns the newest result of a part, and how often the part has failed. A part without a result has none.
func (s *state) of(g gate, p part) (r result, failures int, ok bool) {
	key := g.name + "\x00" + p.String()
	r, ok = s.results[key]
	return r, s.failures[key], ok
}

// put stores a result. It begins with a line feed, because the program may have died while it wrote the line before.
func (s *state) put(r result) error {
	s.know(r)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString("\n" + string(line))
	return errors.Join(err, file.Close())
}
