// Package credential gets API keys from commands.
package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/redact"
)

const (
	// DefaultLifetime is for how long a key is used before the command runs again. Access tokens live longer, usually an hour.
	DefaultLifetime = 5 * time.Minute
	// timeout limits one run of the command.
	timeout = 30 * time.Second
	// maxKey is the largest length of a key in bytes. A header of an HTTP request cannot be much longer.
	maxKey = 16 << 10
	// maxProblem is the number of bytes of the standard error of a command that failed that are told.
	maxProblem = 1000
)

// Command is a command that prints an API key or an access token to its standard output. It is safe for concurrent use.
type Command struct {
	argv     []string
	lifetime time.Duration
	running  singleflight.Group

	mu    sync.Mutex
	key   string
	until time.Time
}

// NewCommand returns a Command whose keys are used for the given time, or for [DefaultLifetime] if it is 0. It does not run the command.
func NewCommand(argv []string, lifetime time.Duration) *Command {
	if lifetime == 0 {
		lifetime = DefaultLifetime
	}
	return &Command{argv: argv, lifetime: lifetime}
}

// Key returns the key of the last run, or runs the command. `refused` reports whether an endpoint has refused a key, which is then not
// returned again unless the command prints it again; nil means that no key was refused. Callers at the same time share one run. The error
// names the command.
func (c *Command) Key(ctx context.Context, refused func(key string) bool) (string, error) {
	if key := c.known(); key != "" && (refused == nil || !refused(key)) {
		return key, nil
	}
	return flight.Do(ctx, &c.running, "", func(ctx context.Context) (string, error) {
		if key := c.known(); key != "" && (refused == nil || !refused(key)) {
			return key, nil // the run that has just ended
		}
		key, err := c.run(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(c.argv, " "), err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.key, c.until = key, time.Now().Add(c.lifetime)
		return key, nil
	})
}

// known returns the key if it may still be used; "" if not.
func (c *Command) known() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().After(c.until) {
		return ""
	}
	return c.key
}

// run runs the command with the environment of the worker, as its user would.
func (c *Command) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	stdout, stderr, err := processgroup.Command{Argv: c.argv, Env: os.Environ(), MaxOutput: maxKey + 1}.Run(ctx)
	if err != nil {
		// A shell that traces its commands prints the key to both.
		hide := redact.New(strings.Fields(string(stdout))...)
		return "", processgroup.Told(err, []byte(hide.Text(string(stderr[:min(len(stderr), maxProblem)]))))
	}
	switch key := strings.TrimSpace(string(stdout)); {
	case len(stdout) > maxKey:
		return "", fmt.Errorf("the command printed more than %d KiB; it must print only the key", maxKey>>10)
	case key == "":
		return "", errors.New("the command printed nothing; it must print the key to its standard output")
	case strings.ContainsAny(key, "\r\n"):
		return "", errors.New("the command printed several lines; it must print only the key")
	default:
		return key, nil
	}
}
