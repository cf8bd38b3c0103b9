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
	// StatePageBytes is the size of a page of a compressed state. In a payload it takes a
	// third more; the server warns over 512 KB.
	StatePageBytes = 350_000
	// MaxStateBytes is the size of a state, as JSON, up to which it is packed and unpacked. No provider takes a
	// request that is much larger.
	MaxStateBytes = 32 << 20
	// maxStateValues is the number of values in the JSON of a state up to which it is unpacked. A message has about ten,
	// and a value takes up to some hundred bytes of memory.
	maxStateValues = 1_000_000
)

// ErrStateSize is the error of a state that is larger than any that an agent comes to.
var ErrStateSize = errors.New("the state is too large")

// Page is a part of a compressed state.
type Page struct {
	Data []byte `json:"data"`
	// Pages is the number of pages, and Events the number of events that were read for them.
	Pages  int   `json:"pages"`
	Events int64 `json:"events"`
	// RunID is the run that was read where another one than that asked for had ended since; empty otherwise.
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

// Unpack is the inverse of [Pack]. It measures the state before it holds any of it in memory, and returns an error that wraps
// [ErrStateSize] for one that is too large.
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
	_, err = io.Copy(out, z) //nolint:gosec // measure bounds it
	return err
}

// measure is a writer that counts the bytes and the values of a JSON text, and fails where there are too many. It does
// not check the text's form.
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
