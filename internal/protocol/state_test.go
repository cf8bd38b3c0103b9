package protocol_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// A small input that unpacks to too many bytes is refused before it takes memory. So is an input with millions of
// values, each of which would take some hundred bytes.
func TestAttackStateThatUnpacksToTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		head, part string
		times      int
	}{
		"long text":   {`{"agent":"`, strings.Repeat("a", 1<<20), 1 << 6},
		"many values": {`{"messages":[{}`, strings.Repeat(",{}", 1<<15), 1 << 6},
		"nulls":       {`{"messages":[null`, strings.Repeat(",null", 1<<15), 1 << 7},
	} {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, err := io.WriteString(z, c.head)
			require.NoError(t, err)
			for range c.times {
				_, err := io.WriteString(z, c.part)
				require.NoError(t, err)
			}
			require.NoError(t, z.Close())
			require.Less(t, packed.Len(), 1_100_000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = protocol.Unpack(packed.Bytes())
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, protocol.ErrStateSize)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

// A plain state is measured before it is decoded, too.
func TestAttackPlainStateWithManyValues(t *testing.T) {
	_, err := protocol.Unpack([]byte(`{"messages":[{}` + strings.Repeat(",{}", 1<<20) + "]}"))
	require.ErrorIs(t, err, protocol.ErrStateSize)
}

// Every packed state can be unpacked. A state that could not be unpacked is not packed.
func TestStateIsPackedWithinItsBound(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x"}, 0)
	add := func(bytes int) {
		s.Messages = append(s.Messages, agent.Message{Message: llm.Message{Role: llm.User, Content: strings.Repeat(`"\[{,`, bytes/5)}})
	}
	add(1 << 20)
	packed, err := protocol.Pack(s)
	require.NoError(t, err)
	got, err := protocol.Unpack(packed)
	require.NoError(t, err)
	require.Equal(t, s, got)
	add(protocol.MaxStateBytes)
	_, err = protocol.Pack(s)
	require.ErrorIs(t, err, protocol.ErrStateSize)
}

// The input of a run has a small state as plain JSON, which people can read in the Web UI, and a larger state compressed. A run reads both.
func TestSmallStateIsReadableInTheInput(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x"}, 0)
	s.Messages = []agent.Message{{Message: llm.Message{Role: llm.User, Content: `"<&>" \ ü`}}}
	size := func() int {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		return len(text)
	}
	pad := strings.Repeat("-", protocol.MaxPlainState-size())
	for name, plain := range map[string]bool{"": true, pad: true, pad + "-": false} {
		s.Messages[0].Content = `"<&>" \ ü` + name
		packed, err := protocol.PackSmall(s, protocol.MaxStateBytes)
		require.NoError(t, err)
		input, err := json.Marshal(agent.Start{Agent: "x", State: packed})
		require.NoError(t, err)
		var shown struct{ State any }
		require.NoError(t, json.Unmarshal(input, &shown))
		if plain {
			require.Contains(t, shown.State, "messages", "%d bytes", size())
		} else {
			require.IsType(t, "", shown.State, "%d bytes", size())
		}
		requireState(t, s, input)

		// An agent that began with an earlier version has any state compressed.
		packed, err = protocol.Pack(s)
		require.NoError(t, err)
		input, err = json.Marshal(agent.Start{Agent: "x", State: packed})
		require.NoError(t, err)
		requireState(t, s, input)
	}
	text, err := json.Marshal(agent.Start{Agent: "x"})
	require.NoError(t, err)
	require.NotContains(t, string(text), "state")
	require.Error(t, json.Unmarshal([]byte(`{"state":1}`), new(agent.Start)))
}

func requireState(t *testing.T, want *agent.State, input []byte) {
	t.Helper()
	var in agent.Start
	require.NoError(t, json.Unmarshal(input, &in))
	got, err := protocol.Unpack(in.State)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
