// Package recording reads the histories that were recorded with a real server. Tests replay them.
package recording

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
)

// Recording holds the history of one run of an agent. The history was exported from a Temporal server, and tests replay it.
type Recording struct {
	// ID is the agent's ID. Keys depend on it.
	ID string
	// RunID is the ID of the run. If the run was created by a reset, its replay needs this ID. It is empty in recordings of earlier
	// versions, whose files have a number in place of a run ID.
	RunID   string
	History *historypb.History
}

// Read reads a recording. The IDs come from the name of the file, ID~RUN.json.gz, because a history has neither of them.
func Read(file string) (Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return Recording{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", file, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", file, err)
	}
	r := Recording{History: new(historypb.History)}
	if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, r.History); err != nil {
		return Recording{}, fmt.Errorf("read %s: %w", file, err)
	}
	r.ID, r.RunID, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json.gz"), "~")
	if uuid.Validate(r.RunID) != nil {
		r.RunID = ""
	}
	return r, nil
}
