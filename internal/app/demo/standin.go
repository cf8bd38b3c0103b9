package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// standIn returns the stand-in: a script that plays the model of both agents. The number of replies so far decides the next
// reply. The texts quote the real results of the tools. The stand-in waits before each reply, because people must be able to
// follow the output. `file` is the name of the file that the sub-agent reads in the script.
func standIn(file string) llm.Client {
	return llmtest.Func(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		select {
		case <-time.After(350 * time.Millisecond):
		case <-ctx.Done():
			return llm.Reply{}, ctx.Err()
		}
		step, results := 0, []string{""}
		for _, m := range req.Messages {
			switch m.Role {
			case llm.Assistant:
				step++
			case llm.Tool:
				results = append(results, m.Content)
			}
		}
		if slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == publishTool }) {
			return guide(step, file, results), nil
		}
		return reader(step, file, results), nil
	})
}

// `step` is the number of replies so far. The first element of `results` is empty. The others are the results of the tool calls so far.
func guide(step int, file string, results []string) llm.Reply {
	n := len(results)
	switch {
	case step == 0:
		return reply("(I am a stand-in for a model: a script. The tools, the sub-agent and the kill are real.) I look at what is here.",
			call("list_files", arguments{}))
	case step == 1:
		return reply("The reader shall look into "+file+".",
			call("reader", arguments{"task": "Read " + file + " and report in one sentence."}))
	case step == 2:
		return reply("That is worth a note. I publish it, and measure the folder meanwhile.",
			call(publishTool, arguments{"text": results[n-1]}), call(measureTool, arguments{}))
	case step == 3 && n > 3:
		return reply(fmt.Sprintf("%s %s %s", results[n-3], results[n-2], results[n-1]))
	}
	return reply("I have said what the script has to say.")
}

func reader(step int, file string, results []string) llm.Reply {
	if step == 0 {
		return reply("", call("read_file", arguments{"path": file}))
	}
	return reply(fmt.Sprintf("%s begins with “%s”.", file, printable.Line(results[len(results)-1], 100)))
}

// reply estimates the numbers of tokens, because the Web UI should show numbers other than zero.
func reply(text string, calls ...llm.ToolCall) llm.Reply {
	return llm.Reply{Message: llm.Message{Content: text, ToolCalls: calls}, Usage: llm.Usage{InputTokens: 500, OutputTokens: len(text)/4 + 20}}
}

type arguments map[string]string

// The ID of the call is the tool's name, which is unique, because each agent calls a tool only once.
func call(tool string, with arguments) llm.ToolCall {
	data, _ := json.Marshal(with) // cannot fail for strings
	return llmtest.ToolCall(tool, tool, string(data))
}

// The file is a README if there is one, else the first by name that is neither hidden nor empty.
func fileHere() (folder, file string, err error) {
	if folder, err = os.Getwd(); err != nil {
		return "", "", fmt.Errorf("find the current folder: %w", err)
	}
	readmes, _ := filepath.Glob("[Rr][Ee][Aa][Dd][Mm][Ee]*") // the patterns are well-formed
	others, _ := filepath.Glob("[^.]*")
	for _, name := range slices.Concat(readmes, others) {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return folder, name, nil
		}
	}
	return "", "", errors.New("the current folder has no files that the demo's agent could read: run the demo in another folder, such as a checkout of Reagent")
}
