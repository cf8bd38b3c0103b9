package protocol

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/agent"
)

const (
	// StatePageBytes is the size of one page of a compressed state: see [Page]. In a payload, the page takes a third more.
	// Temporal warns about payloads over 512 KB.
	StatePageBytes = 350_000
	// MaxStateBytes is the maximum size of the JSON of a state. [Pack] and [Unpack] refuse a larger state. No provider
	// accepts a request that is much larger than this size.
	MaxStateBytes = 32 << 20
	// MaxPlainState is the maximum size of the JSON of a state that [PackSmall] does not compress, so that people can read the state in the
	// Web UI.
	MaxPlainState = 100_000
	// maxStateValues is the maximum number of values in the JSON of a state. [Pack] and [Unpack] refuse a state with more
	// values. A message has about ten values, and a value takes up to some hundred bytes of memory.
	maxStateValues = 1_000_000
)

// ErrStateSize is the error for a state that is too large for [Pack] or [Unpack]. The JSON of such a state has more than
// [MaxStateBytes] bytes, or has too many values. The errors of Pack and Unpack wrap ErrStateSize and name the limit.
var ErrStateSize = errors.New("the state of the agent is too large")

// Page is the result of the activity [ReadAgent]: a part of a state that [Pack] has compressed.
type Page struct {
	// Data is this part of the compressed state.
	Data []byte `json:"data"`
	// Pages is the number of pages of the state.
	Pages int `json:"pages"`
	// Events is the number of history events from which the state was computed.
	Events int64 `json:"events"`
	// RunID is empty if the activity has read the requested run. If two programs resume the agent at the same time, the activity may
	// read the run that the faster program started instead. RunID is then the ID of that run.
	RunID string `json:"run_id,omitempty"`
}

// Pack encodes the state of an agent as JSON and compresses it, for the agent's next run. If the state is too large for
// [Unpack], Pack returns an error that wraps [ErrStateSize].
func Pack(s *agent.State) ([]byte, error) {
	data, err := encode(s)
	if err != nil {
		return nil, err
	}
	return compress(data)
}

// PackSmall is [Pack] for a state whose JSON has at most `most` bytes, and which travels in the input of the next run. It does not compress
// a state of at most [MaxPlainState] bytes. For a state with more than `most` bytes that [Unpack] accepts, it returns nil and no error, and
// spends no time on compressing the state.
func PackSmall(s *agent.State, most int) (agent.PackedState, error) {
	data, err := encode(s)
	switch {
	case err != nil:
		return nil, err
	case len(data) > most:
		return nil, nil
	case len(data) <= MaxPlainState:
		return data, nil
	}
	return compress(data)
}

func encode(s *agent.State) ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	var m measure
	if _, err := m.Write(data); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	return data, nil
}

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
	_, err := z.Write(append(data, '\n'))
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("pack state: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack returns the state that [Pack] or [PackSmall] has packed. If the state is too large, Unpack returns an error that wraps
// [ErrStateSize]. It measures the state before it decodes it, so that a state that is too large cannot fill the memory.
func Unpack(data []byte) (*agent.State, error) {
	text, err := decompress(data)
	if err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	var s agent.State
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("unpack state: %w", err)
	}
	return &s, nil
}

func decompress(data agent.PackedState) ([]byte, error) {
	var m measure
	if data.Plain() {
		_, err := m.Write(data)
		return data, err
	}
	if err := gunzip(&m, data); err != nil {
		return nil, err
	}
	text := bytes.NewBuffer(make([]byte, 0, m.bytes))
	err := gunzip(text, data)
	return text.Bytes(), err
}

func gunzip(out io.Writer, data []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, z) //nolint:gosec // measure limits the size
	return err
}

// measure counts the bytes and the values of a JSON text that is written to it. It does not check the syntax of the text. Its
// counts are limited: see [measure.Write].
type measure struct {
	bytes, values   int
	quoted, escaped bool
}

// Write counts the bytes and the values of a part of the JSON text. It returns an error that wraps [ErrStateSize] if there
// are more than [MaxStateBytes] bytes or more than maxStateValues values. Write implements [io.Writer].
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

// Open returns the state with which a new run of an agent begins. `packed` is the packed state of an earlier run. Open
// unpacks that state and passes it to [Continue], which explains the other parameters.
func Open(agentID string, in agent.Start, packed []byte, now int64) (*agent.State, error) {
	s, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	return Continue(agentID, in, s, now)
}

// Continue returns the state with which a new run of an agent begins. It makes this state from s, the state of an earlier
// run, and may change s. `agentID` is the agent's ID, and `in` is the start input of the new run. Its field From says whether
// the new run forks, resumes or continues the earlier run. Continue puts the messages of the start input into
// the queue. The current time is `now`, in Unix milliseconds. If a fork is not possible, Continue returns the error of
// [agent.State.Fork].
func Continue(agentID string, in agent.Start, s *agent.State, now int64) (*agent.State, error) {
	switch from := in.From; {
	case from == nil || !from.Fork && !from.Resume:
		// The same agent, in its next run.
	case from.Fork:
		var err error
		if s, err = s.Fork(in.Identity(agentID), cmp.Or(in.Mode, agent.Task), from.At, now); err != nil {
			return nil, err
		}
		if from.Reload {
			s.Redefine(in.Overrides)
		}
	default:
		s.Apply(agent.Resumed{RunID: from.RunID, Reload: from.Reload, Time: now})
	}
	for _, m := range in.Messages() {
		s.Apply(agent.MessageReceived{Message: m, Time: now})
	}
	return s, nil
}
