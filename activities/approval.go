package activities

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ApprovalPolicy says which calls of an agent need a person's approval. A key is one of these:
//   - a tool, as in `Agent.Tools`: "price" or "files.read"
//   - "files.*", which means all tools of the MCP server "files"
//   - the name of a sub-agent
//   - "default", which means all other tools and sub-agents
//
// The most specific key decides: the name before "files.*", and "files.*" before "default". If no key matches, the rule is
// [ApprovalAlways] for a tool with [tool.Spec.NeedsApproval], and [ApprovalNever] for any other tool and for a sub-agent. This also
// holds if the policy is nil.
//
// A key that matches no tool and no sub-agent of the agent is an error of the agent's definition (see [Activities.Check]),
// because a misspelt name could let a call run without approval. There is one exception: if `Agent.Tools` contains "files.*",
// the key "files.*" is valid even if the server has no tools.
type ApprovalPolicy map[string]ApprovalRule

// ApprovalRule says which calls of a tool or sub-agent need a person's approval. A policy must not contain the empty rule.
type ApprovalRule string

const (
	// ApprovalNever means that no call needs an approval.
	ApprovalNever ApprovalRule = "never"
	// ApprovalAlways means that each call needs an approval.
	ApprovalAlways ApprovalRule = "always"
	// ApprovalDestructive means that each call needs an approval, except for tools that are not destructive: see
	// [tool.Spec.Destructive]. A sub-agent is always destructive. An MCP server says in its annotations which of its tools are
	// not destructive. Annotations are only hints, so use [ApprovalAlways] for a server that is not trusted.
	ApprovalDestructive ApprovalRule = "destructive"
)

// defaultKey is the key in an [ApprovalPolicy] for tools and sub-agents that match no other key.
const defaultKey = "default"

func (p ApprovalPolicy) check() error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(p)) {
		switch p[key] {
		case ApprovalNever, ApprovalAlways, ApprovalDestructive:
		default:
			problems = append(problems, fmt.Errorf("approval of %q: unknown rule %q: use never, always or destructive", key, p[key]))
		}
	}
	return errors.Join(problems...)
}

// needs reports whether each call of a tool or sub-agent needs an approval. `keys` are the keys that match the tool or
// sub-agent, the most specific first: see [toolKeys]. The method adds the key "default". The parameter `destructive` says
// whether a call may be destructive. The parameter `askFirst` is the result if no key of the policy matches.
func (p ApprovalPolicy) needs(destructive, askFirst bool, keys ...string) bool {
	for _, key := range append(slices.Clip(keys), defaultKey) {
		if rule, ok := p[key]; ok {
			return rule != ApprovalNever && (rule != ApprovalDestructive || destructive)
		}
	}
	return askFirst
}

// checkKeys reports each key of the policy that is neither in `known` nor "default".
func (p ApprovalPolicy) checkKeys(known []string, report func(field string, err error)) {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if key != defaultKey && !slices.Contains(known, key) {
			report("approval."+key, errors.New("matches no tool or sub-agent of this agent: correct the name, or remove it"))
		}
	}
}

// toolKeys returns the keys of an [ApprovalPolicy] that match the tool with the given reference, except for "default". The
// most specific key is the first: "files.read" and then "files.*".
func toolKeys(ref string) []string {
	if server, _, ok := strings.Cut(ref, "."); ok {
		return []string{ref, server + ".*"}
	}
	return []string{ref}
}
