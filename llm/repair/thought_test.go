package repair_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

func TestReasoningIsSeparatedFromTheText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"<think>\na\n</think>\n\nb":           {"a", "b"},
		"<think>a</think>\n<think>b</think>c": {"a\n\nb", "c"},
		"a\n</think>\n\nb":                    {"a", "b"},
		"a</think>\nb":                        {"a", "b"},
		"[THINK]a[/THINK]b":                   {"a", "b"},
		"<seed:think>a</seed:think>b":         {"a", "b"},
		"<thinking>a</thinking>b":             {"a", "b"},
		"<thought>a</thought>b":               {"a", "b"},
		"<think></think>b":                    {"", "b"},
		"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>": {"a", "b"},
		"<|channel|>final<|message|>b": {"", "b"},
		"<|channel|>analysis<|message|>a<|channel|>final <|constrain|>json<|message|>{}": {"a", "{}"},
		"<|channel|>analysis<|message|>a<|end|>":                                         {"a", ""},
		"Use `<think>a</think>` as it is.":                                               {"", "Use `<think>a</think>` as it is."},
		"Use <think>a</think>":                                                           {"", "Use <think>a</think>"},
		"Close it with </think>\nand go on.":                                             {"", "Close it with </think>\nand go on."},
		"The tag `</think>` closes it.":                                                  {"", "The tag `</think>` closes it."},
		"```\na\n</think>\nb\n```":                                                       {"", "```\na\n</think>\nb\n```"},
		`{"html":"a</think>b"}`:                                                          {"", `{"html":"a</think>b"}`},
		"<think>a":                                                                       {"", "<think>a"},
		"<|channel|>":                                                                    {"", "<|channel|>"},
		"<|channel|>analysis<|message|>a<|end|> and then":                                {"", "<|channel|>analysis<|message|>a<|end|> and then"},
	} {
		got := repair.Reply(llm.Reply{Message: llm.Message{Content: text}}, llm.Request{})
		require.Equal(t, want, [2]string{got.Message.Reasoning, got.Message.Content}, text)
		require.Empty(t, got.Repaired)
	}
}

func TestReasoningBesideTheTextIsKept(t *testing.T) {
	t.Parallel()
	got := repair.Reply(llm.Reply{Message: llm.Message{Reasoning: "first", Content: "<think>a</think>b"}}, llm.Request{})
	require.Equal(t, llm.Message{Reasoning: "first", Content: "b"}, got.Message)
}

// A text that was cut off within the reasoning has no answer.
func TestReasoningThatIsCutOffIsNoText(t *testing.T) {
	t.Parallel()
	got := repair.Reply(llm.Reply{FinishReason: "length", Message: llm.Message{Content: "<think>a\nb"}}, llm.Request{})
	require.Equal(t, llm.Message{Reasoning: "a\nb"}, got.Message)
}

// A closing tag that belongs to the answer, or that a server left over, does not make the answer a thought.
func TestAnswerIsNotTakenForAThought(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"The answer is 42.\n</think>",
		"<log>\n<thought id=\"1\">\nHello\n</thought>\n</log>",
	} {
		got := repair.Reply(llm.Reply{Message: llm.Message{Content: text}}, llm.Request{}).Message
		require.Equal(t, text, got.Content)
		require.Empty(t, got.Reasoning)
	}
	got := repair.Reply(llm.Reply{Message: llm.Message{Content: "<think>plan</think>\nThe template ends with\n</think>\nand then."}}, llm.Request{}).Message
	require.Equal(t, "The template ends with\n</think>\nand then.", got.Content)
	got = repair.Reply(llm.Reply{Message: llm.Message{Content: "Answer one.\n</think>\nAnswer two.", Reasoning: "thought"}}, llm.Request{}).Message
	require.Equal(t, "Answer one.\n</think>\nAnswer two.", got.Content)
}
