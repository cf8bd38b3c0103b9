package agent

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

var id = Identity{KeyVersion: 1, AgentID: "report", Incarnation: "7c9e6679-7425-40de-944b-e07fc1f90ae7"}

// Histories contain these keys. If one of them changes, running agents break. A new formula needs a new key version.
func TestKeysAreWhatTheyWere(t *testing.T) {
	head := (&Definition{
		Candidates: []llm.Candidate{{Name: "main", Model: "gpt-4o-mini"}}, Instructions: "Be brief.",
		Tools: []Tool{{Name: "add", Description: "adds", Schema: json.RawMessage(`{"type":"object"}`), Ref: "math.add"}},
	}).RequestPrefix()
	chain := HashMessages("", llm.Message{Role: llm.User, Content: "2+2 = <?>"})
	model := ModelIdentity{id, HashPrefix(head)}.Key(chain)
	child := id.childKey(childInput{Agent: "clerk", Task: "count"}, 1)
	for name, c := range map[string]struct{ got, want string }{
		"definition":     {string(id.definitionKey("assistant", 0)), "definition-2a5f59403e5eb433d6366d184b5738b1"},
		"head":           {HashPrefix(head), "73f9f7b807da2866fecf625832ba597a30a47df1e8d61bfcbe225e3dbfb5014a"},
		"chain":          {chain, "a985fa9670eec133e7b6ba714044070b44860db95f47ddcb0116fd9c9989aadf"},
		"model":          {string(model), "model-4b955e3a0955ec4da288b4c2d69949ab"},
		"tool":           {string(id.ToolKey(model, 0, "add", `{"b":1, "a":9007199254740993}`, "")), "tool-0c4f9af337d9e95fb7e0fbe63cdd6e15"},
		"tool with text": {string(id.ToolKey(model, 0, "add", `{"b":`, "")), "tool-dbb5901c14175ded43e69f934864f590"},
		"child":          {string(child), "agent-34f7643895ec400d7de4b7ede504a9b5"},
		"child's ID":     {ChildID("report", "clerk", child), "report/clerk-34f7643895ec400d"},
		"notification":   {string(id.notificationKey("pager", OnWaits, []notifiedWait{{model, WaitsForApproval}})), "notify-e99a11e213a44a0502091cba885b4e77"},
		"end":            {string(id.notificationKey("pager", OnEnded, notifiedTurn{Completed, "", 1})), "notify-aee9d1288576f6503ea1aa11ae789fcd"},
		"child's life":   {ChildIncarnation(child), "9e252da2-a77a-539e-9125-03b77424f1e9"},
	} {
		require.Equal(t, c.want, c.got, name)
	}
}

// All requests of an agent have one key for the prompt cache, which nobody can guess without its incarnation.
func TestPromptCacheKeyBelongsToTheAgent(t *testing.T) {
	key := id.PromptCacheKey()
	require.Regexp(t, "^[0-9a-f]{32}$", key)
	newer := id
	newer.KeyVersion++
	require.Equal(t, key, newer.PromptCacheKey(), "another version of the worker does not change it")
	for _, other := range []Identity{{1, "report", "another"}, {1, "another", id.Incarnation}} {
		require.NotEqual(t, key, other.PromptCacheKey())
	}
}

func TestToolKeysTellCallsApart(t *testing.T) {
	base := id.ToolKey("model-1", 0, "add", `{"a":1,"b":[1,2]}`, "")
	require.Equal(t, base, id.ToolKey("model-1", 0, "add", ` { "b" : [1,2], "a":1 }`, ""), "spelling does not matter")
	other := id
	other.Incarnation = "another"
	for name, key := range map[string]Key{
		"the reply":    id.ToolKey("model-2", 0, "add", `{"a":1,"b":[1,2]}`, ""),
		"the position": id.ToolKey("model-1", 1, "add", `{"a":1,"b":[1,2]}`, ""),
		"the tool":     id.ToolKey("model-1", 0, "sub", `{"a":1,"b":[1,2]}`, ""),
		"arguments":    id.ToolKey("model-1", 0, "add", `{"a":1,"b":[2,1]}`, ""),
		"a digit":      id.ToolKey("model-1", 0, "add", `{"a":1.0,"b":[1,2]}`, ""),
		"the life":     other.ToolKey("model-1", 0, "add", `{"a":1,"b":[1,2]}`, ""),
		"the caller":   id.ToolKey("model-1", 0, "add", `{"a":1,"b":[1,2]}`, "ann"),
	} {
		require.NotEqual(t, base, key, name)
	}
	require.NotEqual(t,
		id.ToolKey("model-1", 0, "add", `{"a":9007199254740993}`, ""),
		id.ToolKey("model-1", 0, "add", `{"a":9007199254740992}`, ""), "digits are not rounded")
	require.NotEqual(t, id.ToolKey("model-1", 0, "add", `"x"`, ""), id.ToolKey("model-1", 0, "add", `x`, ""), "JSON and text differ")
}

// excluded lists the fields of a request that change no key, with the reason.
var excluded = map[string]string{
	"Request.Key":                "is derived from the others",
	"Request.PromptCacheKey":     "is derived from the agent, which each key contains",
	"Request.Messages.Reasoning": "is never sent",
}

// Every field of a request is hashed or listed in excluded. So a new field cannot be forgotten.
func TestEveryFieldOfARequestIsHashed(t *testing.T) {
	key := func(r llm.Request) Key {
		head := r
		head.Messages = nil
		chain := ""
		for _, m := range r.Messages {
			chain = HashMessages(chain, sent(m, false))
		}
		return ModelIdentity{id, HashPrefix(head)}.Key(chain)
	}
	base := func() llm.Request {
		return llm.Request{
			Candidates: []llm.Candidate{{Name: "n", Model: "m"}},
			Tools:      []llm.ToolSpec{{Name: "t"}},
			Messages:   []llm.Message{{Role: llm.User, Parts: []llm.Part{{Type: "text"}}, ToolCalls: []llm.ToolCall{{Arguments: "{}"}}}},
		}
	}
	seen := map[string]bool{}
	var walk func(path string, at func(*llm.Request) reflect.Value)
	walk = func(path string, at func(*llm.Request) reflect.Value) {
		r := base()
		v := at(&r)
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(r *llm.Request) reflect.Value { return at(r).Field(i) })
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			require.Equal(t, 1, v.Len(), "give the base request one element of %s", path)
			walk(path, func(r *llm.Request) reflect.Value { return at(r).Index(0) })
		default:
			seen[path] = true
			change(t, path, v)
			if _, ok := excluded[path]; ok {
				require.Equal(t, key(base()), key(r), "%s is excluded, but changes the key", path)
			} else {
				require.NotEqual(t, key(base()), key(r), "%s is neither hashed nor excluded", path)
			}
		}
	}
	walk("Request", func(r *llm.Request) reflect.Value { return reflect.ValueOf(r).Elem() })
	for path := range excluded {
		require.True(t, seen[path], "%s is excluded but does not exist", path)
	}
	require.Greater(t, len(seen), 20)
}

func change(t *testing.T, path string, v reflect.Value) {
	raw := json.RawMessage(`{"type":"object"}`)
	switch v.Interface().(type) {
	case string, llm.Role:
		text := "changed"
		if path == "Request.Messages.ToolCalls.Arguments" {
			text = `{"changed":true}`
		}
		v.SetString(text)
	case int:
		v.SetInt(7)
	case *float64:
		v.Set(reflect.ValueOf(new(float64)))
	case *int:
		v.Set(reflect.ValueOf(new(int)))
	case *bool:
		v.Set(reflect.ValueOf(new(bool)))
	case *llm.Params:
		v.Set(reflect.ValueOf(&llm.Params{}))
	case json.RawMessage:
		v.Set(reflect.ValueOf(raw))
	case map[string]json.RawMessage:
		v.Set(reflect.ValueOf(map[string]json.RawMessage{"x": raw}))
	default:
		t.Fatalf("%s: say here how to change a %s", path, v.Type())
	}
}

// A request for a summary forbids calls to every candidate, also to one with parameters of its own. The definition stays as it is.
func TestSummaryForbidsCallsToEveryCandidate(t *testing.T) {
	own := &llm.Params{ToolChoice: "required", Seed: new(int)}
	d := &Definition{
		Candidates: []llm.Candidate{{Name: "main"}, {Name: "spare", Params: own}, {Name: "same"}},
		Params:     llm.Params{ToolChoice: "t", OutputSchema: json.RawMessage(`{"type":"object"}`)}, Tools: []Tool{{Name: "t"}},
	}
	head := d.SummaryPrefix()
	for _, c := range head.Candidates {
		require.Equal(t, "none", head.To(c).Params.ToolChoice, c.Name)
		require.Empty(t, head.To(c).Params.OutputSchema)
	}
	require.NotNil(t, head.Candidates[1].Params.Seed)
	require.Equal(t, "required", own.ToolChoice)
	require.Equal(t, "required", d.RequestPrefix().Candidates[1].Params.ToolChoice)
}

// An absent field is not encoded, so a field that is added later changes no key.
func TestAbsentFieldsAreNotEncoded(t *testing.T) {
	text, err := json.Marshal(llm.Request{
		Candidates: []llm.Candidate{{Name: "n", Model: "m"}},
		Tools:      []llm.ToolSpec{{Name: "t"}},
		Messages:   []llm.Message{{Role: llm.User}},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"candidates":[{"name":"n","model":"m"}],"tools":[{"name":"t"}],"messages":[{"role":"user"}]}`, string(text))
}

// B16: the order of the tools in the configuration does not change a request.
func TestToolsAreSentInOneOrder(t *testing.T) {
	a := &Definition{Tools: []Tool{{Name: "b"}, {Name: "a"}}}
	b := &Definition{Tools: []Tool{{Name: "a"}, {Name: "b"}}}
	require.Equal(t, HashPrefix(a.RequestPrefix()), HashPrefix(b.RequestPrefix()))
}

// Agents with the same definition have the same digest, and any change of the definition changes it.
func TestDigestTellsDefinitionsApart(t *testing.T) {
	d := Definition{Name: "x", Instructions: "Be kind.", Tools: []Tool{{Name: "pay", Schema: []byte(`{"type":"object"}`)}}}
	same := d
	same.Tools = []Tool{{Name: "pay", Schema: []byte(`{ "type": "object" }`)}}
	require.Equal(t, d.Digest(), same.Digest())
	require.Regexp(t, "^[0-9a-f]{12}$", d.Digest())
	approved := d
	approved.Tools = []Tool{{Name: "pay", Schema: []byte(`{"type":"object"}`), Approval: true}}
	limited := d
	limited.Limits.ModelCalls = 3
	for _, other := range []Definition{{}, approved, limited} {
		require.NotEqual(t, d.Digest(), other.Digest())
	}
}
