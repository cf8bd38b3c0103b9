package encryption

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
)

// kms is a key service with keys of 32 equal bytes. It fails as often as away says.
type kms struct {
	keys  map[string]byte
	away  int
	asked []string
}

func (k *kms) Key(_ context.Context, id string) ([]byte, error) {
	k.asked = append(k.asked, id)
	if k.away > 0 {
		k.away--
		return nil, errors.New("try later")
	}
	if b, ok := k.keys[id]; ok {
		return bytes.Repeat([]byte{b}, 32), nil
	}
	return nil, &UnknownKeyError{}
}

// A codec asks its source once for each key, and again only while the source fails. A key that the source does not have is named.
func TestCodecAsksItsSourceForKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := []*commonpb.Payload{{Data: []byte("text")}}
		seal := func(id string, b byte) []*commonpb.Payload {
			c, err := New(Options{Keys: map[string][]byte{id: bytes.Repeat([]byte{b}, 32)}, KeyID: id})
			require.NoError(t, err)
			sealed, err := c.Encode(plain)
			require.NoError(t, err)
			return sealed
		}
		old, lost := seal("2025", 1), seal("2024", 9)
		service := &kms{keys: map[string]byte{"2025": 1, "2026": 2}, away: 2}
		c, err := New(Options{KeyID: "2026", Source: service})
		require.NoError(t, err)
		require.Equal(t, []string{"2026", "2026", "2026"}, service.asked)
		for range 2 {
			sealed, err := c.Encode(plain)
			require.NoError(t, err)
			require.Equal(t, "2026", string(sealed[0].Metadata[keyIDField]))
			for _, payloads := range [][]*commonpb.Payload{sealed, old} {
				opened, err := c.Decode(payloads)
				require.NoError(t, err)
				require.Equal(t, "text", string(opened[0].Data))
			}
		}
		require.Equal(t, []string{"2026", "2026", "2026", "2025"}, service.asked)
		_, err = c.Decode(lost)
		var unknown *UnknownKeyError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, "2024", unknown.ID)

		service.away = 1000
		_, err = New(Options{KeyID: "2025", Source: service})
		require.EqualError(t, err, `reagent: EncryptionOptions.KeyID: the KeySource gave no key "2025" for 10s: try later`)
		service.away = 0
		_, err = New(Options{KeyID: "2024", Source: service})
		require.ErrorContains(t, err, `EncryptionOptions.KeyID is "2024": name one of the Keys: []`)
	})
}
