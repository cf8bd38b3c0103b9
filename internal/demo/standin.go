package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// thinking is how long the stand-in waits before a reply, so that people can follow the output.
const thinking = 350 * time.Millisecond

// standIn returns the stand-in for the model of both agents. It is a script: the number of replies in the turn decides the next
// reply. Its texts quote the real results of the tools.
func standIn(about subject) *llmtest.Model {
	return llmtest.Func(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		select {
		case <-time.After(thinking):
		case <-ctx.Done():
			return llm.Reply{}, ctx.Err()
		}
		turn := sinceUser(req.Messages)
		reply := llmtest.Say(guideLine(about, turn))
		if !offers(req, publishTool) {
			reply = llmtest.Say(readerLine(turn))
		}
		if calls := scripted(about, turn, offers(req, publishTool)); len(calls) > 0 {
			reply.Message.ToolCalls, reply.FinishReason = calls, "tool_calls"
		}
		reply.Usage = usage(req.Messages, reply)
		return reply, nil
	})
}

// scripted returns the tool calls of the next reply. It returns nil if the reply is the answer. The parameter guide says whether
// the agent is the guide or the reader.
func scripted(about subject, turn []llm.Message, guide bool) []llm.ToolCall {
	step := replies(turn)
	call := func(n int, name string, arguments any) llm.ToolCall {
		data, _ := json.Marshal(arguments) // cannot fail for a map of strings and numbers
		return llmtest.ToolCall(fmt.Sprintf("call_%d_%d", step, n), name, string(data))
	}
	type object map[string]any
	switch {
	case !guide && step == 0:
		return []llm.ToolCall{call(0, "read_file", object{"path": named(turn, about.file), "limit": 40})}
	case !guide:
		return nil
	case step == 0 && about.search != "":
		return []llm.ToolCall{
			call(0, "list_files", object{}),
			call(1, "search_files", object{"query": about.search, "glob": "agent/*.go", "max_matches": 12}),
		}
	case step == 0:
		return []llm.ToolCall{call(0, "list_files", object{})}
	case step == 1:
		return []llm.ToolCall{call(0, readerAgent, object{"task": "Read " + about.file + " and tell in one sentence what it is for."})}
	case step == 2:
		return []llm.ToolCall{
			call(0, publishTool, object{"text": lastResult(turn)}),
			call(1, measureTool, object{"suffix": about.suffix}),
		}
	}
	return nil
}

// guideLine returns the text of the guide's next reply.
func guideLine(about subject, turn []llm.Message) string {
	switch replies(turn) {
	case 0:
		return "(I am a stand-in for a model: a script. The tools, the sub-agent and the kill are real.) I look at what is here."
	case 1:
		return "The reader shall look into " + about.file + "."
	case 2:
		return "That is worth a note. I publish it, and measure the files meanwhile."
	}
	results := resultsOf(turn)
	if len(results) < 3 {
		return "I have said what the script has to say."
	}
	n := len(results)
	return fmt.Sprintf("%s says: %s\n%s The folder has %s.", about.file, results[n-3], results[n-2], results[n-1])
}

// readerLine returns the text of the reader's next reply.
func readerLine(turn []llm.Message) string {
	if replies(turn) == 0 {
		return ""
	}
	return "“" + firstSentences(lastResult(turn)) + "”"
}

// named returns the first word with a dot in the turn's first message, which is probably a file name. If there is none, it
// returns fallback.
func named(turn []llm.Message, fallback string) string {
	if len(turn) > 0 {
		for word := range strings.FieldsSeq(turn[0].Content) {
			if word = strings.Trim(word, ".,;:?!\"'`()"); strings.Contains(word, ".") {
				return word
			}
		}
	}
	return fallback
}

// firstSentences returns the first two sentences of the first comment of a Go file, or of the text of another file.
func firstSentences(file string) string {
	var words []string
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		text, comment := strings.CutPrefix(line, "//")
		switch {
		case !strings.Contains(file, "\n//") && !strings.HasPrefix(file, "//"): // not source code
			words = append(words, strings.Fields(strings.TrimLeft(line, "#*> "))...)
		case comment:
			words = append(words, strings.Fields(text)...)
		case len(words) > 0:
			return sentence(words)
		}
	}
	return sentence(words)
}

// sentence joins words with spaces, up to the end of the second sentence and at most 51 words.
func sentence(words []string) string {
	ends := 0
	for i, word := range words {
		if strings.HasSuffix(word, ".") {
			ends++
		}
		if ends == 2 || i == 50 {
			return strings.Join(words[:i+1], " ")
		}
	}
	return strings.Join(words, " ")
}

// sinceUser returns the last user message and all messages after it.
func sinceUser(all []llm.Message) []llm.Message {
	for i, m := range slices.Backward(all) {
		if m.Role == llm.User {
			return all[i:]
		}
	}
	return nil
}

// replies returns the number of the model's replies in the turn.
func replies(turn []llm.Message) int {
	n := 0
	for _, m := range turn {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

func resultsOf(turn []llm.Message) []string {
	var all []string
	for _, m := range turn {
		if m.Role == llm.Tool {
			all = append(all, m.Content)
		}
	}
	return all
}

func lastResult(turn []llm.Message) string {
	if all := resultsOf(turn); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func offers(req llm.Request, tool string) bool {
	for _, t := range req.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// usage estimates the tokens of a reply at four bytes for each token, so that the numbers in the Web UI are not all zero.
func usage(sent []llm.Message, reply llm.Reply) llm.Usage {
	in := 0
	for _, m := range sent {
		in += len(m.Content)
	}
	out := len(reply.Message.Content)
	for _, call := range reply.Message.ToolCalls {
		out += len(call.Arguments)
	}
	return llm.Usage{InputTokens: in/4 + 1, OutputTokens: out/4 + 1}
}
