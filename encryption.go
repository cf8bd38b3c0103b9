package reagent

import "github.com/reagent-dev/reagent/internal/encryption"

type (
	// EncryptionOptions are the options of [NewEncryptionCodec].
	EncryptionOptions = encryption.Options
	// EncryptionCodec is a payload codec that encrypts with AES-GCM, in the format of Temporal's own examples. Give it to [NewClientPlugin],
	// and serve it with [go.temporal.io/sdk/converter.NewPayloadCodecHTTPHandler] for `starter`, the Temporal CLI and the Web UI. If the keys
	// are where `worker` and `starter` find them, in REAGENT_ENCRYPTION_KEYS, REAGENT_ENCRYPTION_KEYS_FILE or REAGENT_ENCRYPTION_KEYS_COMMAND,
	// a program needs no codec: [ClientOptions] and [WorkerOptions] read them. It is safe for concurrent use.
	EncryptionCodec = encryption.Codec
	// KeySource gives keys to an [EncryptionCodec], for example from a KMS. A codec asks for a key when it first needs it, and keeps it in
	// memory. A KeySource must be safe for concurrent use.
	KeySource = encryption.KeySource
	// UnknownKeyError says that an [EncryptionCodec] does not have the key of a payload.
	UnknownKeyError = encryption.UnknownKeyError
)

// ErrPlainPayload says that a payload is not encrypted, and that an [EncryptionCodec] accepts only encrypted ones.
var ErrPlainPayload = encryption.ErrPlainPayload

// NewEncryptionCodec returns a codec with these keys. It returns an error if a key has another length, or if KeyID names none of them and none of
// the Source.
func NewEncryptionCodec(o EncryptionOptions) (*EncryptionCodec, error) { return encryption.New(o) }
