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
	// MaxStateBytes is the largest size, as JSON, of a state that [Pack] and [Unpack] accept. No provider accepts a
	// request that is much larger.
	MaxStateBytes = 32 << 20
	// maxStateValues is the largest number of values in the JSON of a state that [Pack] and [Unpack] accept. A message
	// has about ten values, and a value takes up to some hundred bytes of memory.
	maxStateValues = 1_000_000
)

// ErrStateSize is the error for a state that is too large for [Pack] and [Unpack]: it has more than [MaxStateBytes]
// bytes, or more values than any working agent needs. The errors of the two functions wrap ErrStateSize and name the
// limit.
var ErrStateSize = errors.New("the state of the agent is too large")

// Page is the result of the activity [ReadAgent]: a part of a state that [Pack] has compressed.
type Page struct {
	Data []byte `json:"data"`
	// Pages is the number of pages of the state. Events is the number of history events from which the state was
	// computed.
	Pages  int   `json:"pages"`
	Events int64 `json:"events"`
	// RunID is empty if the requested run was read. Otherwise it is the ID of the later run that was read instead.
	// This happens if another resume of the requested run had already started the later run, and the later run has
	// ended, too.
	RunID string `json:"run_id,omitempty"`
}

// Pack returns the compressed JSON of a state, for the next run of the agent. For a state that is so large that
// [Unpack] would refuse it, Pack returns an error that wraps [ErrStateSize].
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

// Unpack returns the state that [Pack] has compressed. If the state is too large, Unpack returns an error that wraps
// [ErrStateSize]. It measures the state first, so that a state that is too large does not fill the memory.
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

// measure is an [io.Writer] that measures a JSON text: it counts the bytes and the values. Write fails if there are
// more bytes or more values than the limits allow. It does not check the syntax of the text.
type measure struct {
	bytes, values   int
	quoted, escaped bool
}

// Write implements [io.Writer].
func (m *measure) Write(text []byte) (int, error) {
	if m.bytes += len(text); m.bytes > MaxStateBytes {
		return 0, fmt.Errorf("%w: its JSON has more than %d bytes; start a new agent instead", ErrStateSize, MaxStateBytes)
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
		return 0, fmt.Errorf("%w: its JSON has more than %d values; start a new agent instead", ErrStateSize, maxStateValues)
	}
	return len(text), nil
}

// Open returns the state with which a new run begins, made from the compressed state of an earlier run (packed). Open unpacks
// this state and passes it to [Continue].
func Open(agentID string, in agent.Start, packed []byte, now int64) (*agent.State, error) {
	s, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	return Continue(agentID, in, s, now)
}

// Continue returns the state with which a new run of the agent agentID begins, made from the state s of an earlier run. Continue
// may change s. The field From of the start input (in) says whether the new run forks, resumes or continues the agent of the
// earlier run. If the start input has a message, Continue puts this message into the inbox. The current time (now) is in Unix
// milliseconds. If a fork is not possible, Continue returns the error of [agent.State.Fork].
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
