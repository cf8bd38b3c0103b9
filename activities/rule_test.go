package activities_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The result of a model call records which calls need no approval by their arguments, with the rule. It records no call whose rule fails,
// so that a person is asked.
func TestReplyRecordsWhichCallsNeedNoApproval(t *testing.T) {
	amount := string(activities.ApprovalIf("args.amount > 50"))
	arguments := []string{`{"amount":50}`, `{"amount":51}`, `{"amount":"1"}`, `{}`, ``, `{"amount":[`}
	var calls []llm.ToolCall
	for _, a := range arguments {
		calls = append(calls, llmtest.ToolCall("", "pay", a))
	}
	calls = append(calls, llmtest.ToolCall("", "other", `{"amount":1}`))
	functions := map[string]func(string, json.RawMessage) (bool, error){
		"x":       func(_ string, a json.RawMessage) (bool, error) { return string(a) != `{"amount":50}`, nil },
		"fails":   func(string, json.RawMessage) (bool, error) { return false, errors.New("no") },
		"panics":  func(string, json.RawMessage) (bool, error) { panic("no") },
		"nothing": nil,
	}
	for _, c := range []struct{ agent, rule string }{
		{"x", amount}, {"x", "function"},
		{"fails", "function"}, {"panics", "function"}, {"nothing", "function"}, {"x", "if args.amount >"}, {"x", "a rule of a later version"},
	} {
		s := newStageWith(t, llmtest.Script(llmtest.Call(calls...)), func(o *activities.Options) {
			o.Agents = nil
			for name, f := range functions {
				o.Agents = append(o.Agents, activities.Agent{Name: name, Model: "main", NeedsApproval: f})
			}
		})
		s.say(llm.User, "hello")
		in := s.input(1)
		in.Agent, in.Rules = c.agent, map[string]string{"pay": c.rule}
		out, err := run[protocol.ModelResult](s, protocol.CallModel, in)
		require.NoError(t, err)
		var want []agent.FreeCall
		if c.agent == "x" && (c.rule == amount || c.rule == "function") {
			want = []agent.FreeCall{{Position: 0, Rule: c.rule}}
		}
		require.Equal(t, want, out.Free, c)
	}
}

func TestRuleByArgumentsIsCheckedAtTheStart(t *testing.T) {
	for rule, problem := range map[activities.ApprovalRule]string{
		activities.ApprovalIf("args.amount >"): `approval of "pay": "args.amount >" is not a condition: `,
		activities.ApprovalIf("amount > 50"):   "unknown name amount",
		activities.ApprovalFunction:            `approval of "pay" is "function", but NeedsApproval is not set`,
	} {
		_, err := activities.New(activities.Options{
			Temporal: struct{ client.Client }{}, Models: map[string]activities.Model{"main": {Model: "m"}},
			Agents: []activities.Agent{{Name: "x", Model: "main", Approval: activities.ApprovalPolicy{"pay": rule}}},
		})
		require.ErrorContains(t, err, problem)
	}
}
