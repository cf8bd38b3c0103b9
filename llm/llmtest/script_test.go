package llmtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

func parsed(t *testing.T, text string) *llmtest.Model {
	model, err := llmtest.ParseScript("a.script", []byte(text))
	require.NoError(t, err)
	return model
}

// nth returns a request after a number of replies.
func nth(n int) llm.Request {
	req := question()
	for range n {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Content: "x"}, llm.Message{Role: llm.User, Content: "on"})
	}
	return req
}

func TestScriptFileGivesItsReplies(t *testing.T) {
	model := parsed(t, `
# A comment does not end a reply.
say Let me look.
# here neither
call get_weather { "city" : "Paris" }
call now
usage 120 30 100

say Sunny.
say ""
say   And "warm".

say " \u00fc "
`)
	reply, err := model.Complete(t.Context(), nth(0))
	require.NoError(t, err)
	require.Equal(t, "Let me look.", reply.Message.Content)
	require.Equal(t, []llm.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{ "city" : "Paris" }`}, {ID: "call_2", Name: "now", Arguments: "{}"}}, reply.Message.ToolCalls)
	require.Equal(t, llm.Usage{InputTokens: 120, OutputTokens: 30, CachedTokens: 100}, reply.Usage)
	reply, err = model.Complete(t.Context(), nth(1))
	require.NoError(t, err)
	require.Equal(t, "Sunny.\n\n  And \"warm\".", reply.Message.Content)
	reply, err = model.Complete(t.Context(), nth(2))
	require.NoError(t, err)
	require.Equal(t, " ü ", reply.Message.Content)
	_, err = model.Complete(t.Context(), nth(3))
	require.ErrorContains(t, err, "the script has 3 replies, and the request asks for number 4")
}

// The failures of a reply are those of each request: a request with another key fails as often.
func TestScriptFileFails(t *testing.T) {
	model := parsed(t, "fail Overloaded busy\nfail RateLimited\nsay Now.\n\nfail InvalidRequest gone\n")
	for _, key := range []string{"a", "b"} {
		req := question()
		req.Key = key
		_, err := model.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.Overloaded})
		require.ErrorContains(t, err, "busy")
		_, err = model.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.RateLimited})
		reply, err := model.Complete(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, "Now.", reply.Message.Content)
	}
	for range 3 {
		_, err := model.Complete(t.Context(), nth(1))
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	}
}

func TestScriptFileStreamsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := parsed(t, "wait 1s\nstream \"It is \"\nwait 2s\nstream sunny.\n")
		began := time.Now()
		var pieces []string
		var at []time.Duration
		ctx := llm.WithStream(t.Context(), func(d llm.Delta) { pieces, at = append(pieces, d.Text), append(at, time.Since(began)) })
		reply, err := model.Complete(ctx, question())
		require.NoError(t, err)
		require.Equal(t, "It is sunny.", reply.Message.Content)
		require.Equal(t, []string{"It is ", "sunny."}, pieces)
		require.Equal(t, []time.Duration{time.Second, 3 * time.Second}, at)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err = model.Complete(ctx, question())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// An error names the file and the line, and says what to write.
func TestWrongScriptFileIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"say a\n\ncal b":              `a.script:3: "cal" is no command: use say, call, stream, fail, wait or usage`,
		"say a\nstream b":             "a.script:2: a reply has either `say` or `stream`",
		"stream a\nsay b":             "a.script:2: a reply has either `say` or `stream`",
		"stream":                      "a.script:1: `stream` needs a text",
		"call":                        "a.script:1: `call` needs the name of a tool",
		"call x [1]":                  "a.script:1: the arguments of x are not a JSON object",
		"call x null":                 "a.script:1: the arguments of x are not a JSON object",
		"fail Nothing":                `a.script:1: "Nothing" is no class of errors: use one of RateLimited, Overloaded`,
		"say a\nfail Overloaded":      "a.script:2: `fail` is about an attempt before this reply",
		"usage 1 2\nfail Overloaded":  "a.script:2: `fail` is about an attempt before this reply",
		"wait 61s":                    `a.script:1: "61s" is no time to wait`,
		"wait soon":                   `a.script:1: "soon" is no time to wait`,
		"usage 1":                     `a.script:1: "1" are no numbers of tokens`,
		"usage 1 -2":                  `a.script:1: "1 -2" are no numbers of tokens`,
		"say \"a\"b\"":                `a.script:1: "a"b" is no JSON string`,
		"say a\n\nwait 1s\nusage 1 2": "a.script:3: this reply has no text and no call",
		"# nothing\n\n":               "a.script:1: the script has no reply",
		strings.Repeat("#", 1<<20+1):  "a.script:1: the script has 1048577 bytes; the limit is 1048576",
	} {
		_, err := llmtest.ParseScript("a.script", []byte(text))
		require.ErrorAs(t, err, new(*llmtest.ScriptError), text)
		require.ErrorContains(t, err, want)
	}
	_, err := llmtest.ReadScript(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
