package serve

import (
	"context"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/credential"
)

// keyOf returns a function that returns the current API key. `refused` reports whether the endpoint has refused a key; it may be nil.
func keyOf(k config.Key) func(ctx context.Context, refused func(key string) bool) (string, error) {
	if len(k.APIKeyCommand) > 0 {
		return credential.NewCommand(k.APIKeyCommand, k.APIKeyLifetime).Key
	}
	return func(context.Context, func(key string) bool) (string, error) { return k.APIKey() }
}

// source returns a function that returns the current credential, which `resolve` makes of the current key. The last argument is the
// credential that an endpoint has refused; nil if there is none.
func source[C any](k config.Key, resolve func(key string) (C, error), equal func(a, b C) bool) func(context.Context, *C) (C, error) {
	current := keyOf(k)
	return func(ctx context.Context, refused *C) (C, error) {
		key, err := current(ctx, func(key string) bool {
			if refused == nil {
				return false
			}
			c, err := resolve(key)
			return err == nil && equal(c, *refused)
		})
		if err != nil {
			var none C
			return none, err
		}
		return resolve(key)
	}
}
