package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/condition"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
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
	// ApprovalFunction means that `Agent.NeedsApproval` decides about each call.
	ApprovalFunction ApprovalRule = "function"
)

// ApprovalIf returns the rule that calls need an approval if a condition on their arguments holds, such as "args.amount > 50". The language
// is that of expr-lang.org, and the condition has at most 300 bytes. If the condition fails, for example because an argument is missing or
// no number, a person is asked. A wrong condition is an error of [New].
func ApprovalIf(condition string) ApprovalRule { return ApprovalRule(ifPrefix + condition) }

const ifPrefix = "if "

// condition returns the condition of a rule that [ApprovalIf] has made.
func (r ApprovalRule) condition() (string, bool) { return strings.CutPrefix(string(r), ifPrefix) }

// NeedsApproval reports whether a call needs a person's approval. `tool` is the name by which the model calls the tool or the sub-agent.
// The arguments are a JSON object. After an error or a panic, a person is asked.
type NeedsApproval func(tool string, arguments json.RawMessage) (bool, error)

// free returns the calls of a reply that need no approval by the rules of their tools. It logs a rule that fails.
func (a *Activities) free(ctx context.Context, in protocol.CallModelInput, calls []llm.ToolCall) (free []agent.FreeCall) {
	for i, call := range calls {
		rule := in.Rules[call.Name]
		if rule == "" {
			continue
		}
		needs, err := a.needsApproval(in.Agent, ApprovalRule(rule), call)
		if err != nil {
			a.log.WarnContext(ctx, "a rule of approvals failed, so a person is asked", "tool", call.Name, "rule", rule, "error", logs.Redacted(err, a.redact))
		} else if !needs {
			free = append(free, agent.FreeCall{Position: i, Rule: rule})
		}
	}
	return free
}

func (a *Activities) needsApproval(name string, rule ApprovalRule, call llm.ToolCall) (needs bool, err error) {
	if text, ok := rule.condition(); ok {
		parsed, err := condition.Parse(text)
		if err != nil {
			return true, err
		}
		return parsed.Holds(call.Arguments)
	}
	decide := a.agents[name].NeedsApproval
	if rule != ApprovalFunction || decide == nil {
		return true, fmt.Errorf("this worker does not have the rule %q of agent %s", rule, name)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("NeedsApproval panics: %v", r)
		}
	}()
	return decide(call.Name, json.RawMessage(cmp.Or(call.Arguments, "{}")))
}

// defaultKey is the key in an [ApprovalPolicy] for tools and sub-agents that match no other key.
const defaultKey = "default"

func (p ApprovalPolicy) check() error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(p)) {
		text, conditional := p[key].condition()
		switch _, err := condition.Parse(text); {
		case conditional && err != nil:
			problems = append(problems, fmt.Errorf("approval of %q: %q %w", key, text, err))
		case conditional:
		case !slices.Contains([]ApprovalRule{ApprovalNever, ApprovalAlways, ApprovalDestructive, ApprovalFunction}, p[key]):
			problems = append(problems, fmt.Errorf("approval of %q: unknown rule %q: use never, always, destructive or a condition such as %q", key, p[key], ApprovalIf("args.amount > 50")))
		}
	}
	return errors.Join(problems...)
}

// needs reports whether each call of a tool or sub-agent needs an approval, or returns the rule that decides by the arguments. `keys` are
// the keys that match the tool or sub-agent, the most specific first: see [toolKeys]. The method adds the key "default". `destructive` says
// whether a call may be destructive. `askFirst` is the result if no key of the policy matches.
func (p ApprovalPolicy) needs(destructive, askFirst bool, keys ...string) (always bool, byArguments string) {
	for _, key := range append(slices.Clip(keys), defaultKey) {
		rule, ok := p[key]
		if !ok {
			continue
		}
		if _, conditional := rule.condition(); conditional || rule == ApprovalFunction {
			return false, string(rule)
		}
		return rule != ApprovalNever && (rule != ApprovalDestructive || destructive), ""
	}
	return askFirst, ""
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
