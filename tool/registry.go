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

// Source lists tools that are not known before the program runs, such as the tools of an MCP server.
type Source interface {
	// Tools returns the tools of the source. It may be called often and concurrently, so a Source should cache its list. An error
	// means that the list is not available now and that another call may succeed.
	Tools(ctx context.Context) ([]Tool, error)
}

// Local is an optional interface for a tool that has two names. One is the tool's name at its [Source]. The other is the name that
// the model sees, for example with a configured prefix. A [Registry] makes the tool's reference from the name at the source, so a
// change of the prefix does not change the reference.
type Local interface {
	// LocalName returns the tool's name at its source.
	LocalName() string
}

// Bound is a tool together with its reference. [Registry.Lookup] finds a tool by its reference.
type Bound struct {
	// Ref is the reference, such as "calculator". For the tool "read_file" of the source "files", it is "files.read_file".
	Ref string
	// Tool is the tool. A [Registry] returns no tool with an empty or unknown effect: such a tool has become [AtMostOnce].
	Tool Tool
}

// Registry finds tools by their references. A tool that was added with [Registry.Add] has its name as its reference, such as
// "calculator". The reference of any other tool has two parts with a dot between them, such as "files.read_file". The first
// part is the name of the tool's [Source]. The second part is the tool's name at this source. The zero Registry is empty and
// ready for use. A Registry is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	tools   map[string]Tool
	sources map[string]Source
}

// Clone returns a copy of the registry, with the same tools and sources. Later additions to one of the two registries do not
// change the other.
func (r *Registry) Clone() *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return &Registry{tools: maps.Clone(r.tools), sources: maps.Clone(r.sources)}
}

// Add adds a tool under its name. It returns an error if the tool is nil, if the registry already has a tool with this name, or if
// the name, the schema, the effect or the result timeout is not valid; see [NameError] and [CheckSchema].
func (r *Registry) Add(t Tool) error {
	if t == nil {
		return fmt.Errorf("registry: the tool is nil; pass a tool to Add")
	}
	spec := t.Spec()
	if err := spec.validate(); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.tools[spec.Name]; ok {
		return fmt.Errorf("registry: there is already a tool %q; give one of the two another name", spec.Name)
	}
	if r.tools == nil {
		r.tools = map[string]Tool{}
	}
	r.tools[spec.Name] = withEffect(t)
	return nil
}

// AddSource adds a source of tools under a name. The name must consist of 1 to 64 of the characters A-Z, a-z, 0-9, _ and -.
// AddSource returns an error if the name is not valid, if the source is nil, or if the registry already has a source with this
// name. AddSource does not list the tools of the source.
func (r *Registry) AddSource(name string, s Source) error {
	if s == nil {
		return fmt.Errorf("registry: the source %q is nil; pass a source to AddSource", name)
	}
	if !validName(name) {
		return fmt.Errorf("registry: source name %q is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _ and -", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.sources[name]; ok {
		return fmt.Errorf("registry: there is already a source %q; give one of the two another name", name)
	}
	if r.sources == nil {
		r.sources = map[string]Source{}
	}
	r.sources[name] = s
	return nil
}

// Names returns the name of each tool, and "name.*" for each source, sorted. Each element is a pattern for [Registry.Resolve].
// Names does not list the tools of sources.
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

// Resolve returns the tools that match at least one of the patterns. A pattern is the reference of a tool, or "name.*" for all
// tools of a source. A tool that matches several patterns is in the result only once. The result is sorted by the name that the
// model sees. Resolve calls [Source.Tools] only for sources that a pattern names.
//
// These are the errors:
//   - an [*UnknownToolError] if the registry does not have a reference
//   - a [*NameError] if models do not accept a tool's name, or if two of the tools have the same name
//   - a [*NameError] if the names of two tools look alike (see [LookAlike]) and the tools are not of the same source
//   - an error that wraps the source's error if a source cannot list its tools
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
	if a, b, ok := lookAlikes(bound); ok {
		return nil, &NameError{Name: a.Tool.Spec().Name, Other: b.Tool.Spec().Name, Refs: []string{a.Ref, b.Ref}}
	}
	return bound, nil
}

// lookAlikes returns two tools whose names look alike: see [LookAlike]. Two tools of one source may look alike, because the source
// speaks for both: neither can pass for a tool that a person trusts more.
func lookAlikes(bound []Bound) (a, b Bound, ok bool) {
	type form struct{ name, skeleton, source string }
	forms := make([]form, len(bound))
	for i, each := range bound {
		name := each.Tool.Spec().Name
		source, _, dotted := strings.Cut(each.Ref, ".")
		if !dotted {
			source = ""
		}
		forms[i] = form{name, skeleton(name), source}
	}
	for i, a := range forms {
		for j, b := range forms[:i] {
			if (a.source == "" || a.source != b.source) && (a.skeleton != "" && a.skeleton == b.skeleton || gaps(a.name, b.name)) {
				return bound[j], bound[i], true
			}
		}
	}
	return Bound{}, Bound{}, false
}

// Lookup returns the tool with a given reference. If there is no such tool, the error is an [*UnknownToolError]. If the source
// of the tool cannot list its tools, the error wraps the source's error. In contrast to [Registry.Resolve], Lookup does not
// accept "name.*" and does not check the tool's name.
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

// match returns the tools that match one pattern of [Registry.Resolve]. If a source has no tools, its pattern "name.*" matches
// no tool, and match returns no error. The errors are those of [Registry.Lookup]. `listed` is a cache that maps the name of a
// source to the source's tools. If a source is not in the cache, the method calls [Source.Tools] and adds the tools to the
// cache.
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
			return nil, fmt.Errorf("the tools of source %q cannot be listed: %w", sourceName, err)
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

// unknown returns an [*UnknownToolError] for the reference `ref`. `ofSource` has all tools of the source that `ref` names, which
// the error lists, too; nil if `ref` names no known source.
func (r *Registry) unknown(ref string, ofSource []Bound) error {
	known := r.Names()
	for _, b := range ofSource {
		known = append(known, b.Ref)
	}
	slices.Sort(known)
	return &UnknownToolError{Ref: ref, Known: known, Nearest: nearest(ref, known)}
}

// withEffect returns `t` if its effect is known. If the effect is empty or unknown, withEffect returns a copy with the effect
// [AtMostOnce].
func withEffect(t Tool) Tool {
	spec := t.Spec()
	switch spec.Effect {
	case ReadOnly, Idempotent, AtMostOnce, External:
		return t
	}
	spec.Effect = AtMostOnce
	return described{Tool: t, spec: spec}
}

type described struct {
	Tool
	spec Spec
}

func (d described) Spec() Spec { return d.spec }
