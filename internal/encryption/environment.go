package encryption

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/internal/redact"
)

// The environment variables that say where the keys are. At most one of them is set.
const (
	// KeysEnv has the keys themselves, in the form that [Parse] reads.
	KeysEnv = "REAGENT_ENCRYPTION_KEYS"
	// KeysFileEnv is the path of a file with the keys.
	KeysFileEnv = "REAGENT_ENCRYPTION_KEYS_FILE"
	// KeysCommandEnv is a command of the shell that prints the keys, for example one that gets them from a KMS.
	KeysCommandEnv = "REAGENT_ENCRYPTION_KEYS_COMMAND"
)

const (
	// commandTimeout limits the command that prints the keys.
	commandTimeout = 30 * time.Second
	// maxKeys is the largest size of the text with the keys, in bytes.
	maxKeys = 64 << 10
	// maxProblem is the number of bytes of the command's standard error that are told.
	maxProblem = 1000
)

// printed has the keys of commands that have run in this process. A process needs them several times, and a KMS is slow.
var printed struct {
	sync.Mutex

	keys map[string]*Keys
}

// FromEnvironment returns the keys that the environment names: see [KeysEnv], [KeysFileEnv] and [KeysCommandEnv]. It returns nil if it names
// none. It runs a command once in a process. An error names the variable, and has no part of a key.
func FromEnvironment(ctx context.Context) (*Keys, error) {
	name, value, err := source()
	if name == "" || err != nil {
		return nil, err
	}
	if name == KeysCommandEnv {
		return fromCommand(ctx, value)
	}
	return fromText(name, value)
}

// SecretsOfEnvironment returns the keys that the environment names, so that a log can hide them. Keys that cannot be read are left out, and so
// are those of a command that has not run yet.
func SecretsOfEnvironment() []string {
	name, value, err := source()
	if name == "" || err != nil {
		return nil
	}
	if name == KeysCommandEnv {
		printed.Lock()
		defer printed.Unlock()
		return printed.keys[value].Secrets()
	}
	keys, err := fromText(name, value)
	if err != nil {
		return nil
	}
	return keys.Secrets()
}

// source returns the variable that says where the keys are; "" if none is set.
func source() (name, value string, err error) {
	for _, each := range []string{KeysEnv, KeysFileEnv, KeysCommandEnv} {
		set := os.Getenv(each)
		switch {
		case set == "":
		case name != "":
			return "", "", fmt.Errorf("%s and %s are both set: keep the one that has the keys", name, each)
		default:
			name, value = each, set
		}
	}
	return name, value, nil
}

func fromText(name, value string) (*Keys, error) {
	text := []byte(value)
	if name == KeysFileEnv {
		var err error
		if text, err = os.ReadFile(value); err != nil {
			return nil, fmt.Errorf("%s: the file with the keys cannot be read: %w; create it, or correct the variable", name, err)
		}
		name += ": " + value
	}
	keys, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return keys, nil
}

// withoutKeys returns the beginning of a command's standard error, without keys. A shell that traces its commands prints them there.
func withoutKeys(stdout, stderr []byte) []byte {
	words := func(text []byte) []string {
		return strings.FieldsFunc(string(text), func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", r)
		})
	}
	likeKeys := slices.DeleteFunc(words(stderr), func(word string) bool { return !looksLikeKey(word) })
	text := redact.New(append(words(stdout), likeKeys...)...).Text(string(stderr))
	return []byte(text[:min(len(text), maxProblem)])
}

func fromCommand(ctx context.Context, command string) (*Keys, error) {
	printed.Lock()
	defer printed.Unlock()
	if keys := printed.keys[command]; keys != nil {
		return keys, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("it took longer than %v", commandTimeout))
	defer cancel()
	stdout, stderr, err := processgroup.Command{Argv: []string{"sh", "-c", command}, Env: os.Environ(), MaxOutput: maxKeys + 1}.Run(ctx)
	switch {
	case err != nil:
		err = processgroup.Told(err, withoutKeys(stdout, stderr))
	case len(stdout) > maxKeys:
		err = fmt.Errorf("the command printed more than %d KiB; it must print only the keys", maxKeys>>10)
	case strings.TrimSpace(string(stdout)) == "":
		err = errors.New("the command printed nothing; it must print the keys to its standard output")
	}
	var keys *Keys
	if err == nil {
		keys, err = Parse(stdout)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KeysCommandEnv, err)
	}
	if printed.keys == nil {
		printed.keys = map[string]*Keys{}
	}
	printed.keys[command] = keys
	return keys, nil
}
