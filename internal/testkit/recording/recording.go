// Package recording reads and writes histories that were recorded with a real server. Tests replay them with the present code.
package recording

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
)

// Recording is the history of one run of an agent, exported from a Temporal server.
type Recording struct {
	// ID is the agent's ID. Keys depend on it.
	ID string
	// RunID is the ID of the run. If the run was created by a reset, its replay needs this ID.
	RunID   string
	History *historypb.History
}

type file struct {
	ID      string          `json:"id"`
	RunID   string          `json:"run_id"`
	History json.RawMessage `json:"history"`
}

// Read reads the recording in the compressed JSON file at a path.
func Read(path string) (Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recording{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", path, err)
	}
	var in file
	if err := json.NewDecoder(z).Decode(&in); err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", path, err)
	}
	r := Recording{ID: in.ID, RunID: in.RunID, History: new(historypb.History)}
	if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(in.History, r.History); err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// Write writes a recording to a file that [Read] can read. It replaces the file if there is one.
func Write(path string, r Recording) error {
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(r.History)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if err := json.NewEncoder(z).Encode(file{r.ID, r.RunID, text}); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}
