package reagent

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"maps"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	// encrypted is the encoding of encrypted payloads, as in Temporal's own examples.
	encrypted = "binary/encrypted"
	// keyIDField is the metadata field of an encrypted payload that has the ID of its key.
	keyIDField = "encryption-key-id"
)

// EncryptionOptions are the options of [NewEncryptionCodec].
type EncryptionOptions struct {
	// Keys has the keys by ID. A key has 16, 24 or 32 random bytes, for AES-128, AES-192 or AES-256. The ID stands unencrypted beside each
	// payload. A key must stay here for as long as Temporal has payloads that it has encrypted.
	Keys map[string][]byte
	// KeyID names the key that encrypts. The others only decrypt. To change the key, first give the new one to all workers and clients, and
	// then set KeyID. One key may encrypt about four billion payloads.
	KeyID string
	// PlainPayloads accepts payloads that are not encrypted, such as those from before there was a codec. Without it, they are an error, so
	// nobody who can only write to Temporal can give an agent a result.
	PlainPayloads bool
}

// EncryptionCodec is a payload codec that encrypts with AES-GCM, in the format of Temporal's own examples. Give it to [NewClientPlugin], and
// serve it with [converter.NewPayloadCodecHTTPHandler] for `starter`, the Temporal CLI and the Web UI. It is safe for concurrent use.
type EncryptionCodec struct {
	keys  map[string]cipher.AEAD
	keyID string
	plain bool
}

var _ converter.PayloadCodec = (*EncryptionCodec)(nil)

// NewEncryptionCodec returns a codec with these keys. It returns an error if a key has another length, or if KeyID names none of them.
func NewEncryptionCodec(o EncryptionOptions) (*EncryptionCodec, error) {
	c := &EncryptionCodec{keys: map[string]cipher.AEAD{}, keyID: o.KeyID, plain: o.PlainPayloads}
	for _, id := range slices.Sorted(maps.Keys(o.Keys)) {
		block, err := aes.NewCipher(o.Keys[id])
		if err != nil {
			return nil, fmt.Errorf("reagent: EncryptionOptions.Keys: the key %q has %d bytes: give it 16, 24 or 32 random bytes", id, len(o.Keys[id]))
		}
		if c.keys[id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("reagent: EncryptionOptions.Keys: the key %q cannot be used: %w", id, err)
		}
	}
	if c.keys[o.KeyID] == nil {
		return nil, fmt.Errorf("reagent: EncryptionOptions.KeyID is %q: name one of the Keys: %q", o.KeyID, slices.Sorted(maps.Keys(o.Keys)))
	}
	return c, nil
}

// Encode implements [converter.PayloadCodec]. It encrypts each payload with its metadata.
func (c *EncryptionCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted), keyIDField: []byte(c.keyID)},
			Data:     c.keys[c.keyID].Seal(nil, nil, plain, nil), //nolint:gosec // the cipher makes the nonce
		}, nil
	})
}

// Decode implements [converter.PayloadCodec]. The error is [ErrPlainPayload] for a payload that is not encrypted, and an [*UnknownKeyError] for
// one whose key is missing.
func (c *EncryptionCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encrypted {
			if c.plain {
				return p, nil
			}
			return nil, ErrPlainPayload
		}
		id := string(p.GetMetadata()[keyIDField])
		key := c.keys[id]
		if key == nil {
			return nil, &UnknownKeyError{ID: id}
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

// ErrPlainPayload says that a payload is not encrypted, and that an [EncryptionCodec] accepts only encrypted ones.
var ErrPlainPayload = errors.New("a payload is not encrypted; set EncryptionOptions.PlainPayloads to read what was stored before there was a codec")

// UnknownKeyError says that an [EncryptionCodec] does not have the key of a payload.
type UnknownKeyError struct {
	// ID is the ID of the missing key.
	ID string
}

// Error names the key.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("a payload is encrypted with the key %q, which is missing; add it to EncryptionOptions.Keys", e.ID)
}
