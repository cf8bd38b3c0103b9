// Package callertoken gets the tokens with which tools act for callers, and keeps them in memory until they expire.
package callertoken

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// early is how long before its end a token is no longer given out, so that it does not expire on the way.
	early = 10 * time.Second
	// maxKept is the largest number of tokens in memory.
	maxKept = 10_000
	// maxToken is the largest size of a token in bytes. A header of an HTTP request cannot be much longer.
	maxToken = 16 << 10
	// maxTime limits one request to a source, whatever the source itself does.
	maxTime = time.Minute
)

// Cache keeps the tokens of a source until they expire. It is safe for concurrent use.
type Cache struct {
	source  tool.TokenSource
	running singleflight.Group

	mu   sync.Mutex
	kept map[entry]tool.Token
}

type entry struct{ reference, audience string }

// NewCache returns a Cache for the source.
func NewCache(source tool.TokenSource) *Cache {
	return &Cache{source: source, kept: map[entry]tool.Token{}}
}

// Token returns the token of a reference for an audience. `refused` is a token that the far side has refused, which is then not returned again
// unless the source gives it again. Callers at the same time share one request to the source.
func (c *Cache) Token(ctx context.Context, reference, audience, refused string) (string, error) {
	e := entry{reference, audience}
	if value := c.find(e, refused); value != "" {
		return value, nil
	}
	return flight.Do(ctx, &c.running, fmt.Sprintf("%q %q", reference, audience), func(ctx context.Context) (string, error) {
		if value := c.find(e, refused); value != "" {
			return value, nil // the request that has just ended
		}
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		token, err := c.source(ctx, tool.TokenRequest{Reference: reference, Audience: audience, Refused: refused != ""})
		switch {
		case err != nil:
			return "", err
		case token.Value == "" || len(token.Value) > maxToken || strings.ContainsFunc(token.Value, func(r rune) bool { return r <= ' ' || r > '~' }):
			return "", errors.New("the source of tokens gave a token that is empty, longer than 16 KiB, or has other characters than a header may have")
		}
		c.keep(e, token)
		return token.Value, nil
	})
}

// Len returns the number of tokens in memory.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept)
}

func (c *Cache) find(e entry, refused string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	token := c.kept[e]
	if token.Value == refused || time.Until(token.Expires) < early {
		return ""
	}
	return token.Value
}

func (c *Cache) keep(e entry, token tool.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, e)
	if time.Until(token.Expires) < early {
		return
	}
	if len(c.kept) >= maxKept {
		c.makeRoom()
	}
	c.kept[e] = token
}

// makeRoom removes the tokens that have expired, and any others until a tenth of the room is free.
func (c *Cache) makeRoom() {
	for e, token := range c.kept {
		if time.Until(token.Expires) < early {
			delete(c.kept, e)
		}
	}
	for e := range c.kept {
		if len(c.kept) <= maxKept*9/10 {
			return
		}
		delete(c.kept, e)
	}
}
