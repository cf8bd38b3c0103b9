// Package encryption encrypts the payloads of agents with AES-GCM, and reads the keys for it from the environment.
package encryption

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"maps"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/internal/clip"
)

const (
	// encrypted is the encoding of encrypted payloads, as in Temporal's own examples.
	encrypted = "binary/encrypted"
	// keyIDField is the metadata field of an encrypted payload that has the ID of its key.
	keyIDField = "encryption-key-id"
)

// Options are the options of [New].
type Options struct {
	// Keys has the keys by ID. A key has 16, 24 or 32 random bytes, for AES-128, AES-192 or AES-256. The ID stands unencrypted beside each
	// payload. A key must stay here for as long as Temporal has payloads that it has encrypted.
	Keys map[string][]byte
	// KeyID names the key that encrypts. The others only decrypt. To change the key, first give the new one to all workers and clients, and
	// then set KeyID. One key may encrypt about four billion payloads.
	KeyID string
	// Source gives keys that are not in Keys, such as those of a KMS. Nil means that there are no others.
	Source KeySource
	// PlainPayloads accepts payloads that are not encrypted, such as those from before there was a codec. Without it, they are an error, so
	// nobody who can only write to Temporal can give an agent a result.
	PlainPayloads bool
}

// Codec is a payload codec that encrypts with AES-GCM, in the format of Temporal's own examples. Create it with [New]. It is safe for
// concurrent use.
type Codec struct {
	keys  *keyring
	keyID string
	plain bool
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a codec with these keys. It returns an error if a key has another length, or if KeyID names none of them and none of the Source.
func New(o Options) (*Codec, error) {
	c := &Codec{keys: &keyring{known: map[string]cipher.AEAD{}, source: o.Source}, keyID: o.KeyID, plain: o.PlainPayloads}
	ids := slices.Sorted(maps.Keys(o.Keys))
	for _, id := range ids {
		aead, err := newAEAD(o.Keys[id])
		if err != nil {
			return nil, fmt.Errorf("reagent: EncryptionOptions.Keys: the key %q %w", id, err)
		}
		c.keys.known[id] = aead
	}
	switch _, err := c.keys.get(o.KeyID); {
	case errors.As(err, new(*UnknownKeyError)):
		return nil, fmt.Errorf("reagent: EncryptionOptions.KeyID is %q: name one of the Keys: %q", o.KeyID, ids)
	case err != nil:
		return nil, fmt.Errorf("reagent: EncryptionOptions.KeyID: %w", err)
	}
	return c, nil
}

// KeyID returns the ID of the key that encrypts.
func (c *Codec) KeyID() string { return c.keyID }

// Encode implements [converter.PayloadCodec]. It encrypts each payload with its metadata.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	key, err := c.keys.get(c.keyID)
	if err != nil {
		return nil, err
	}
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted), keyIDField: []byte(c.keyID)},
			Data:     key.Seal(nil, nil, plain, nil), //nolint:gosec // the cipher makes the nonce
		}, nil
	})
}

// Decode implements [converter.PayloadCodec]. The error is [ErrPlainPayload] for a payload that is not encrypted, and an [*UnknownKeyError] for
// one whose key is missing.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encrypted {
			if c.plain {
				return p, nil
			}
			return nil, ErrPlainPayload
		}
		id := string(p.GetMetadata()[keyIDField])
		key, err := c.keys.get(id)
		if err != nil {
			return nil, err
		}
		plain, err := key.Open(nil, nil, p.GetData(), nil)
		if err != nil {
			return nil, fmt.Errorf("decrypt a payload with the key %q: %w: the key has this ID but other bytes, or the payload was changed", id, err)
		}
		decoded := new(commonpb.Payload)
		if err := proto.Unmarshal(plain, decoded); err != nil {
			return nil, fmt.Errorf("decode a decrypted payload: %w", err)
		}
		return decoded, nil
	})
}

func each(payloads []*commonpb.Payload, code func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if out[i], err = code(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ErrPlainPayload says that a payload is not encrypted, and that a [Codec] accepts only encrypted ones.
var ErrPlainPayload = errors.New("a payload is not encrypted; set EncryptionOptions.PlainPayloads, or plain_payloads in a file of keys, to read what was stored before there was a codec")

// UnknownKeyError says that a [Codec] does not have the key of a payload.
type UnknownKeyError struct {
	// ID is the ID of the missing key.
	ID string
}

// maxID is the number of bytes of an ID that an error tells.
const maxID = 64

// Error names the key.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("a payload is encrypted with the key %q, which is missing; add it to EncryptionOptions.Keys, or to the keys that REAGENT_ENCRYPTION_KEYS… names", clip.UTF8(e.ID, maxID))
}
