package tool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Source gives tools that are known only when they are asked for, such as those
// of an MCP server. Tools may be called often and at the same time; a Source
// keeps what it listed as long as it sees fit. An error says that the list could not
// be had, and that asking again may help.
type Source interface {
	Tools(ctx context.Context) ([]Tool, error)
}

// Local is implemented by a tool of a [Source] whose name to the model differs
// from its name at the source, so that references do not change with a prefix.
type Local interface {
	// LocalName is the tool's name at its source.
	LocalName() string
}

// Bound is a tool together with the reference under which it is found again.
type Bound struct {
	// Ref is what [Registry.Lookup] takes: "calculator", or "files.read_file" for a
	// tool of the source "files".
	Ref  string
	Tool Tool
}

// Registry keeps tools and sources of tools under their references. A tool's
// reference is its name; that of a tool of a source is the source's name, a dot, and
// the tool's name at the source. The zero Registry is empty and ready for use. It
// is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	tools   map[string]Tool
	sources map[string]Source
}

// Clone returns a registry with the same tools and sources. What is added to one of the two is not in the other.
func (r *Registry) Clone() *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return &Registry{tools: maps.Clone(r.tools), sources: maps.Clone(r.sources)}
}

// Add adds a tool under its name. It fails when the name is taken or cannot be
// given to a model, or when the schema is not a JSON object.
func (r *Registry) Add(t Tool) error {
	if t == nil {
		return fmt.Errorf("registry: nil tool")
	}
	spec := t.Spec()
	if err := spec.validate(); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.tools[spec.Name]; ok {
		return fmt.Errorf("registry: tool %q is already there", spec.Name)
	}
	if r.tools == nil {
		r.tools = map[string]Tool{}
	}
	r.tools[spec.Name] = withEffect(t)
	return nil
}

// AddSource adds a source under a name, which is made of letters, digits, _ and
// -, up to 64 of them. It fails when the name is taken by another source. Nothing is
// listed yet.
func (r *Registry) AddSource(name string, s Source) error {
	if s == nil {
		return fmt.Errorf("registry: nil source %q", name)
	}
	if !validName(name) {
		return fmt.Errorf("registry: source %q: a name is 1 to 64 of A-Z, a-z, 0-9, _ and -", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.sources[name]; ok {
		return fmt.Errorf("registry: source %q is already there", name)
	}
	if r.sources == nil {
		r.sources = map[string]Source{}
	}
	r.sources[name] = s
	return nil
}

// Names returns what may be written into a list of tools, sorted: the names of
// tools, and "name.*" for each source. It asks no source.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := slices.Collect(maps.Keys(r.tools))
	for name := range r.sources {
		names = append(names, name+".*")
	}
	slices.Sort(names)
	return names
}

// Resolve returns the tools that patterns name, each once, sorted by the name
// the model sees. A pattern is a reference, or "name.*" for all tools of a
// source. Only the sources that are named are asked.
//
// The error is an [*UnknownToolError] for a reference to nothing, a [*NameError]
// for tools that a model cannot be given together, and the source's own error,
// wrapped, when it could not list.
func (r *Registry) Resolve(ctx context.Context, patterns []string) ([]Bound, error) {
	listed := map[string][]Bound{} // by source
	found := map[string]Bound{}    // by reference
	for _, pattern := range patterns {
		matches, err := r.match(ctx, pattern, listed)
		if err != nil {
			return nil, err
		}
		for _, b := range matches {
			found[b.Ref] = b
		}
	}
	bound := slices.SortedFunc(maps.Values(found), func(a, b Bound) int {
		return cmp.Or(cmp.Compare(a.Tool.Spec().Name, b.Tool.Spec().Name), cmp.Compare(a.Ref, b.Ref))
	})
	for i, b := range bound {
		name := b.Tool.Spec().Name
		if !validName(name) {
			return nil, &NameError{Name: name, Refs: []string{b.Ref}}
		}
		if i > 0 && bound[i-1].Tool.Spec().Name == name {
			return nil, &NameError{Name: name, Refs: []string{bound[i-1].Ref, b.Ref}}
		}
	}
	return bound, nil
}

// Lookup returns the tool of a reference, for running it. The error is an
// [*UnknownToolError] when there is none, and the source's own error, wrapped, when
// it could not list.
func (r *Registry) Lookup(ctx context.Context, ref string) (Tool, error) {
	if strings.HasSuffix(ref, ".*") {
		return nil, r.unknown(ref, nil)
	}
	matches, err := r.match(ctx, ref, map[string][]Bound{})
	if err != nil {
		return nil, err
	}
	return matches[0].Tool, nil
}

// match returns the tools of one pattern: at least one, unless the pattern is
// that of a source without tools.
func (r *Registry) match(ctx context.Context, pattern string, listed map[string][]Bound) ([]Bound, error) {
	sourceName, _, dotted := strings.Cut(pattern, ".")
	r.mu.RLock()
	t, isTool := r.tools[pattern]
	source, isSource := r.sources[sourceName]
	r.mu.RUnlock()
	if isTool {
		return []Bound{{Ref: pattern, Tool: t}}, nil
	}
	if !dotted || !isSource {
		return nil, r.unknown(pattern, nil)
	}
	all, ok := listed[sourceName]
	if !ok {
		tools, err := source.Tools(ctx)
		if err != nil {
			return nil, fmt.Errorf("tools of %s: %w", sourceName, err)
		}
		all = make([]Bound, 0, len(tools))
		for _, t := range tools {
			name := t.Spec().Name
			if l, ok := t.(Local); ok {
				name = l.LocalName()
			}
			all = append(all, Bound{Ref: sourceName + "." + name, Tool: withEffect(t)})
		}
		listed[sourceName] = all
	}
	if pattern == sourceName+".*" {
		return all, nil
	}
	for _, b := range all {
		if b.Ref == pattern {
			return []Bound{b}, nil
		}
	}
	return nil, r.unknown(pattern, all)
}

// unknown describes a reference to nothing by what there is.
func (r *Registry) unknown(ref string, ofSource []Bound) error {
	known := r.Names()
	for _, b := range ofSource {
		known = append(known, b.Ref)
	}
	slices.Sort(known)
	return &UnknownToolError{Ref: ref, Known: known, Nearest: nearest(ref, known)}
}

// withEffect gives a tool without an effect the default one.
func withEffect(t Tool) Tool {
	spec := t.Spec()
	switch spec.Effect {
	case ReadOnly, Idempotent, AtMostOnce:
		return t
	}
	spec.Effect = AtMostOnce
	return described{Tool: t, spec: spec}
}

// described is a tool under another description.
type described struct {
	Tool
	spec Spec
}

func (d described) Spec() Spec { return d.spec }
