package agent

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Metadata is what a program knows about an agent or about one message, such as a customer or the user who writes: names and values. Tools,
// model clients, hooks and people get it. No model sees it, and no hash includes it, except for [CallerReference]. It is stored in histories, so it must not contain a
// secret.
type Metadata map[string]string

// The limits on metadata.
const (
	// MaxMetadata is the largest number of entries.
	MaxMetadata = 20
	// MaxMetadataBytes is the largest size of all names and values together, in bytes.
	MaxMetadataBytes = 4000
)

// metadataName matches the names in metadata.
var metadataName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// CallerReference is the name in metadata under which a program says for whom tools act. The value is a reference and no token: a worker
// exchanges it for a token when it calls a tool. Tools, model clients and MCP servers do not get the entry.
//
// Unlike the rest of the metadata, it is a part of the keys of calls and sub-agents, so that no caller gets what was done for another one.
// A message from outside replaces the reference for the rest of the turn. If the message has none, later calls of the turn have no caller.
const CallerReference = "reagent.caller_ref"

// callerReference matches what may stand under [CallerReference]. Bearer tokens with a space do not match.
var callerReference = regexp.MustCompile(`^[A-Za-z0-9_:/@+=.-]{1,200}$`)

// Check returns an error if the metadata has too many entries, is too large, or has a name or a value that is not valid.
func (m Metadata) Check() error {
	if len(m) > MaxMetadata {
		return fmt.Errorf("the metadata has %d entries; the limit is %d", len(m), MaxMetadata)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		size += len(name) + len(value)
		switch {
		case !metadataName.MatchString(name):
			return fmt.Errorf("the metadata has the name %q; a name begins with a letter, and has up to 64 letters, digits, dots, hyphens and underscores", name)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			return fmt.Errorf("the value of %q in the metadata has control characters or is not UTF-8; use one line of text", name)
		}
	}
	if ref, ok := m[CallerReference]; ok && (!callerReference.MatchString(ref) || strings.HasPrefix(ref, "eyJ")) {
		return fmt.Errorf("the value of %q in the metadata must be a reference, never a token: at most 200 letters, digits and characters of _:/@+=.- "+
			"(%d bytes); it is stored in the history, and the worker exchanges it for a token", CallerReference, len(ref))
	}
	if size > MaxMetadataBytes {
		return fmt.Errorf("the metadata has %d bytes; the limit is %d", size, MaxMetadataBytes)
	}
	return nil
}

// With returns the entries of both. Those of `more` take precedence.
func (m Metadata) With(more Metadata) Metadata {
	if len(more) == 0 {
		return m
	}
	all := maps.Clone(m)
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}

// after returns the metadata of a turn after a message with the metadata `more`. A message from outside brings the caller's reference or ends
// that of the messages before.
func (m Metadata) after(more Metadata, outside bool) Metadata {
	all := m.With(more)
	if outside && m[CallerReference] != "" && more[CallerReference] == "" {
		return all.WithoutCaller()
	}
	return all
}

// WithoutCaller returns the metadata without the entry [CallerReference].
func (m Metadata) WithoutCaller() Metadata {
	if _, ok := m[CallerReference]; !ok {
		return m
	}
	rest := maps.Clone(m)
	delete(rest, CallerReference)
	return rest
}

// Has reports whether the metadata has all entries of another one.
func (m Metadata) Has(other Metadata) bool {
	for name, value := range other {
		if got, ok := m[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// CurrentMetadata returns the metadata of the agent with that of the running turn, which takes precedence.
func (s *State) CurrentMetadata() Metadata { return s.Metadata.With(s.Turn.Metadata) }

func (s *State) callerReference() string { return s.CurrentMetadata()[CallerReference] }
