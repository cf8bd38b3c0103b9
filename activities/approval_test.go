package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/tool"
)

// remote is a tool of an MCP server that models see under another name.
type remote struct {
	local string
	spec  tool.Spec
}

func (r remote) LocalName() string { return r.local }
func (r remote) Spec() tool.Spec {
	r.spec.Name = "fs_" + strings.ReplaceAll(r.local, ".", "_")
	return r.spec
}

func (r remote) Call(context.Context, json.RawMessage) (tool.Result, error) {
	return tool.Result{}, nil
}

// source lists the tools of an MCP server.
type source []tool.Tool

func (s source) Tools(context.Context) ([]tool.Tool, error) { return s, nil }

// approver returns the activities of a worker with the agent "x", which has the given policy, and with these tools: "clock",
// which is read-only, "price", "shell", which asks first, tools of the server "files", a tool of the server
// "desk", which asks first, and the server "empty", which has no tools.
func approver(t *testing.T, conf Agent) (*Activities, error) {
	t.Helper()
	nothing := func(context.Context, struct{}) (string, error) { return "", nil }
	var r tool.Registry
	require.NoError(t, r.Add(tool.MustFunc("clock", "", tool.ReadOnly, nothing)))
	require.NoError(t, r.Add(tool.MustFunc("price", "", "", nothing)))
	shell, err := tool.New(tool.Spec{Name: "shell", NeedsApproval: true}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, nil
	})
	require.NoError(t, err)
	require.NoError(t, r.Add(shell))
	require.NoError(t, r.AddSource("files", source{
		remote{"read", tool.Spec{Effect: tool.ReadOnly}},
		remote{"append", tool.Spec{NotDestructive: true}},
		remote{"put", tool.Spec{Effect: tool.Idempotent}},
		remote{"a.b", tool.Spec{}},
	}))
	require.NoError(t, r.AddSource("desk", source{remote{"ask", tool.Spec{NeedsApproval: true, NotDestructive: true}}}))
	require.NoError(t, r.AddSource("empty", source{}))
	conf.Name = "x"
	return New(Options{
		Temporal: struct{ client.Client }{}, Tools: &r, Models: map[string]Model{"main": {Model: "m"}},
		Agents: []Agent{conf, {Name: "helper"}, {Name: "default"}},
	})
}

// asked returns the tools and sub-agents of the agent "x" that need an approval, sorted.
func asked(t *testing.T, a *Activities) []string {
	t.Helper()
	d, err := a.define(t.Context(), a.agents["x"], agent.Overrides{})
	require.NoError(t, err)
	var names []string
	for _, each := range d.Tools {
		if each.Approval {
			names = append(names, each.Name)
		}
	}
	return names
}

func TestMostSpecificKeyOfAPolicyDecides(t *testing.T) {
	for name, c := range map[string]struct {
		policy ApprovalPolicy
		asked  []string
	}{
		"no policy":           {nil, nil},
		"never":               {ApprovalPolicy{"default": "never"}, nil},
		"always":              {ApprovalPolicy{"default": "always"}, []string{"clock", "default", "fs_a_b", "fs_append", "fs_put", "fs_read", "helper", "price"}},
		"destructive":         {ApprovalPolicy{"default": "destructive"}, []string{"default", "fs_a_b", "fs_put", "helper", "price"}},
		"a tool":              {ApprovalPolicy{"price": "always"}, []string{"price"}},
		"a sub-agent":         {ApprovalPolicy{"helper": "destructive"}, []string{"helper"}},
		"a server":            {ApprovalPolicy{"files.*": "destructive"}, []string{"fs_a_b", "fs_put"}},
		"a tool with a dot":   {ApprovalPolicy{"files.a.b": "always"}, []string{"fs_a_b"}},
		"tool before server":  {ApprovalPolicy{"files.*": "always", "files.put": "never", "files.append": "destructive"}, []string{"fs_a_b", "fs_read"}},
		"tool before default": {ApprovalPolicy{"default": "always", "files.*": "never", "price": "never", "helper": "never"}, []string{"clock", "default"}},
		"all three":           {ApprovalPolicy{"default": "never", "files.*": "never", "files.read": "always"}, []string{"fs_read"}},
		"nothing to match":    {ApprovalPolicy{"empty.*": "always"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := approver(t, Agent{Tools: []string{"clock", "price", "files.*", "empty.*"}, Agents: []string{"helper", "default"}, Approval: c.policy})
			require.NoError(t, err)
			require.Equal(t, c.asked, asked(t, a))
		})
	}
}

// A tool that asks first needs an approval unless the policy has a rule for it.
func TestToolThatAsksFirstNeedsApprovalUnlessARuleSaysOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		policy ApprovalPolicy
		asked  []string
	}{
		"no policy":               {nil, []string{"fs_ask", "shell"}},
		"no rule":                 {ApprovalPolicy{}, []string{"fs_ask", "shell"}},
		"rules for other tools":   {ApprovalPolicy{"clock": "never", "helper": "never", "files.read": "never"}, []string{"fs_ask", "shell"}},
		"default never":           {ApprovalPolicy{"default": "never"}, nil},
		"default destructive":     {ApprovalPolicy{"default": "destructive"}, []string{"helper", "shell"}},
		"the tool never":          {ApprovalPolicy{"shell": "never"}, []string{"fs_ask"}},
		"the tool always":         {ApprovalPolicy{"default": "never", "shell": "always"}, []string{"shell"}},
		"the tool if destructive": {ApprovalPolicy{"desk.ask": "destructive"}, []string{"shell"}},
		"the server never":        {ApprovalPolicy{"desk.*": "never"}, []string{"shell"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := approver(t, Agent{Tools: []string{"clock", "shell", "files.read", "desk.ask"}, Agents: []string{"helper"}, Approval: c.policy})
			require.NoError(t, err)
			require.Equal(t, c.asked, asked(t, a))
		})
	}
}

// A key that matches nothing would let the call that it means run without approval.
func TestPolicyForAToolThatTheAgentDoesNotHaveIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		tools []string
		key   string
	}{
		"misspelt":                 {[]string{"price"}, "prise"},
		"a tool of the worker":     {[]string{"price"}, "clock"},
		"an agent of the worker":   {[]string{"price"}, "helper"},
		"misspelt tool":            {[]string{"files.*"}, "files.wipe"},
		"the model's name":         {[]string{"files.*"}, "fs_put"},
		"a server of the worker":   {[]string{"price"}, "files.*"},
		"a server without tools":   {[]string{"price"}, "empty.*"},
		"a tool that is not there": {[]string{"empty.*"}, "empty.put"},
		"all":                      {[]string{"files.*"}, "*"},
		"a server":                 {[]string{"files.*"}, "files"},
		"nothing":                  {[]string{"files.*"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := approver(t, Agent{Tools: c.tools, Approval: ApprovalPolicy{"default": ApprovalNever, c.key: ApprovalAlways}})
			require.NoError(t, err)
			require.EqualError(t, a.Check(t.Context()),
				"agents.x.approval."+c.key+": matches no tool or sub-agent of this agent: correct the name, or remove it")
		})
	}
}

func TestUnknownRulesOfAPolicyAreRefused(t *testing.T) {
	for _, rule := range []ApprovalRule{"", "Always", "sometimes"} {
		_, err := approver(t, Agent{Tools: []string{"price"}, Approval: ApprovalPolicy{"default": ApprovalNever, "price": rule}})
		require.EqualError(t, err, `agent x: approval of "price": unknown rule "`+string(rule)+`": use never, always, destructive or a condition such as "if args.amount > 50"`)
	}
}

// During a rollout, the digests of two workers differ only if an agent needs approvals.
func TestPolicyThatAsksForNothingLeavesTheDefinitionAsItIs(t *testing.T) {
	define := func(p ApprovalPolicy) agent.Definition {
		a, err := approver(t, Agent{Tools: []string{"files.*"}, Agents: []string{"helper"}, Approval: p})
		require.NoError(t, err)
		d, err := a.define(t.Context(), a.agents["x"], agent.Overrides{})
		require.NoError(t, err)
		return d
	}
	none, err := json.Marshal(define(nil))
	require.NoError(t, err)
	require.NotContains(t, string(none), "approval")
	require.Equal(t, define(nil), define(ApprovalPolicy{"default": ApprovalNever, "files.read": ApprovalDestructive}))
	require.NotEqual(t, define(nil), define(ApprovalPolicy{"helper": ApprovalAlways}))
}
