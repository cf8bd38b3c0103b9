package protocol

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/agent"
)

const (
	// StatePageBytes is the size of a page of a compressed state. In a payload it takes a
	// third more; the server warns over 512 KB.
	StatePageBytes = 350_000
	// maxStateBytes bounds a state that is unpacked.
	maxStateBytes = 256 << 20
)

// Page is a part of a compressed state.
type Page struct {
	Data []byte `json:"data"`
	// Pages is how many there are; Events how many events were read for them.
	Pages  int   `json:"pages"`
	Events int64 `json:"events"`
	// RunID is the run that was read where another one than that asked for had ended since; empty otherwise.
	RunID string `json:"run_id,omitempty"`
}

// Pack compresses a state.
func Pack(s *agent.State) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := json.NewEncoder(z).Encode(s); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack is the inverse of [Pack].
func Unpack(data []byte) (*agent.State, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	var s agent.State
	if err := json.NewDecoder(io.LimitReader(z, maxStateBytes)).Decode(&s); err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	return &s, nil
}

// Open returns the state with which a run goes on that got the packed one of an earlier run.
func Open(agentID string, in agent.Start, packed []byte, now int64) (*agent.State, error) {
	s, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	return Continue(agentID, in, s, now)
}

// Continue returns the state with which a run begins that goes on from an earlier one, whose state is s.
// It may change s.
func Continue(agentID string, in agent.Start, s *agent.State, now int64) (*agent.State, error) {
	switch from := in.From; {
	case from == nil || !from.Fork && !from.Resume:
		// The same agent, in its next run.
	case from.Fork:
		mode := in.Mode
		if mode == "" {
			mode = agent.Task
		}
		id := agent.Identity{KeyVersion: agent.KeyVersion, AgentID: agentID, Life: in.Life}
		var err error
		if s, err = s.Fork(id, mode, from.At, now); err != nil {
			return nil, err
		}
	default:
		s.Apply(agent.Resumed{RunID: from.RunID, Reload: from.Reload, Time: now})
	}
	if in.Message != nil {
		s.Apply(agent.MessageReceived{Message: *in.Message, Time: now})
	}
	return s, nil
}
