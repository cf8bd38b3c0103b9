package reagenttest

import (
	"context"
	"testing"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Model is a scripted model: see [llmtest.Model].
type Model = llmtest.Model

// Script returns a model that gives the replies in order: see [llmtest.Script].
func Script(replies ...llm.Reply) *Model { return llmtest.Script(replies...) }

// ScriptFile returns a model that gives the replies of a text file: see [llmtest.ParseScript] for its format. If the file is wrong, the
// test ends with an error that names the line.
func ScriptFile(t testing.TB, path string) *Model {
	t.Helper()
	model, err := llmtest.ReadScript(path)
	if err != nil {
		t.Fatalf("reagenttest: %v", err)
	}
	return model
}

// Func returns a model that calls a function for each request: see [llmtest.Func].
func Func(f func(context.Context, llm.Request) (llm.Reply, error)) *Model { return llmtest.Func(f) }

// Say returns a reply with a text, which ends the turn.
func Say(text string) llm.Reply { return llmtest.Say(text) }

// Call returns a reply with tool calls.
func Call(calls ...llm.ToolCall) llm.Reply { return llmtest.Call(calls...) }

// ToolCall returns a tool call, for [Call]. The arguments are a JSON object. The ID is that of the provider, and differs from those of the
// other calls of the reply.
func ToolCall(id, name, arguments string) llm.ToolCall { return llmtest.ToolCall(id, name, arguments) }
