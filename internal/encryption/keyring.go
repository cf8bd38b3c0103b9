package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// sourcePatience is how long a [KeySource] is asked for one key, with all repetitions.
	sourcePatience = 10 * time.Second
	// sourcePause is the first pause before a KeySource is asked again. Each later pause is longer by this time.
	sourcePause = 100 * time.Millisecond
)

// KeySource gives keys to a [Codec], for example from a KMS. A codec asks for a key when it first needs it, and keeps it in memory.
// A KeySource must be safe for concurrent use.
type KeySource interface {
	// Key returns the key with this ID: 16, 24 or 32 bytes. If there is no such key, the error is an [*UnknownKeyError]. After another error,
	// the codec asks again for up to 10 seconds. Whoever can write to Temporal chooses the IDs, so they may be anything.
	Key(ctx context.Context, id string) ([]byte, error)
}

// keyring has the keys of a codec. It is safe for concurrent use.
type keyring struct {
	source KeySource // nil if there is none
	asked  singleflight.Group

	mu    sync.RWMutex
	known map[string]cipher.AEAD
}

// get returns an [*UnknownKeyError] if there is no such key.
func (k *keyring) get(id string) (cipher.AEAD, error) {
	k.mu.RLock()
	key, ok := k.known[id]
	k.mu.RUnlock()
	switch {
	case ok:
		return key, nil
	case k.source == nil:
		return nil, &UnknownKeyError{ID: id}
	}
	got, err, _ := k.asked.Do(id, func() (any, error) { return k.ask(id) })
	if err != nil {
		return nil, err
	}
	return got.(cipher.AEAD), nil
}

func (k *keyring) ask(id string) (cipher.AEAD, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sourcePatience)
	defer cancel()
	for pause := sourcePause; ; pause += sourcePause {
		key, err := k.source.Key(ctx, id)
		switch {
		case errors.As(err, new(*UnknownKeyError)):
			return nil, &UnknownKeyError{ID: id}
		case err == nil:
			aead, err := newAEAD(key)
			if err != nil {
				return nil, fmt.Errorf("the key %q of the KeySource %w", id, err)
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.known[id] = aead
			return aead, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the KeySource gave no key %q for %v: %w", id, sourcePatience, err)
		case <-time.After(pause):
		}
	}
}

// newAEAD returns an error that follows the name of the key.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("has %d bytes: give it 16, 24 or 32 random bytes", len(key))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	return aead, nil
}
