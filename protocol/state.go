package protocol

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/agent"
)

const (
	// StatePageBytes is the size of a page of a compressed state. In a payload, the page takes a third more. Temporal
	// warns about payloads over 512 KB.
	StatePageBytes = 350_000
	// MaxStateBytes is the largest size of a state, as JSON, that is packed and unpacked. No provider accepts a request
	// that is much larger.
	MaxStateBytes = 32 << 20
	// maxStateValues is the largest number of values in the JSON of a state that is packed and unpacked. A message has
	// about ten values, and a value takes up to some hundred bytes of memory.
	maxStateValues = 1_000_000
)

// ErrStateSize is the error for a state that has more bytes or more values than the state of any working agent.
var ErrStateSize = errors.New("the state is too large")

// Page is a part of a compressed state.
type Page struct {
	Data []byte `json:"data"`
	// Pages is the number of pages. Events is the number of history events that were read for the state.
	Pages  int   `json:"pages"`
	Events int64 `json:"events"`
	// RunID is the run that was read, if it is not the requested one, because a later run has ended since; empty
	// otherwise.
	RunID string `json:"run_id,omitempty"`
}

// Pack compresses a state. It returns an error that wraps [ErrStateSize] for a state that [Unpack] would refuse.
func Pack(s *agent.State) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	var m measure
	if _, err := m.Write(data); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(append(data, '\n')); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack is the inverse of [Pack]. It measures the state before it holds the whole state in memory. It returns an error
// that wraps [ErrStateSize] if the state is too large.
func Unpack(data []byte) (*agent.State, error) {
	var m measure
	if err := gunzip(&m, data); err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	text := bytes.NewBuffer(make([]byte, 0, m.bytes))
	if err := gunzip(text, data); err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	var s agent.State
	if err := json.Unmarshal(text.Bytes(), &s); err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	return &s, nil
}

func gunzip(out io.Writer, data []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, z) //nolint:gosec // measure limits the size
	return err
}

// measure is a writer that counts the bytes and the values of a JSON text. Write fails if there are too many. It does
// not check the syntax.
type measure struct {
	bytes, values   int
	quoted, escaped bool
}

// Write implements [io.Writer].
func (m *measure) Write(text []byte) (int, error) {
	if m.bytes += len(text); m.bytes > MaxStateBytes {
		return 0, fmt.Errorf("%w: it has more than %d bytes", ErrStateSize, MaxStateBytes)
	}
	for _, c := range text {
		switch {
		case m.escaped:
			m.escaped = false
		case m.quoted && c == '\\':
			m.escaped = true
		case c == '"':
			m.quoted = !m.quoted
		case !m.quoted && (c == ',' || c == '[' || c == '{'):
			m.values++
		}
	}
	if m.values > maxStateValues {
		return 0, fmt.Errorf("%w: it has more than %d values", ErrStateSize, maxStateValues)
	}
	return len(text), nil
}

// Open returns the state with which a run goes on from an earlier run, given the packed state of that run: see
// [Continue].
func Open(agentID string, in agent.Start, packed []byte, now int64) (*agent.State, error) {
	s, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	return Continue(agentID, in, s, now)
}

// Continue returns the state with which a run goes on from an earlier run, given the state s of that run. in.From says
// whether the new run forks, resumes or continues the agent. Continue may change s. now is in Unix milliseconds.
func Continue(agentID string, in agent.Start, s *agent.State, now int64) (*agent.State, error) {
	switch from := in.From; {
	case from == nil || !from.Fork && !from.Resume:
		// The same agent, in its next run.
	case from.Fork:
		mode := in.Mode
		if mode == "" {
			mode = agent.Task
		}
		var err error
		if s, err = s.Fork(in.Identity(agentID), mode, from.At, now); err != nil {
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
