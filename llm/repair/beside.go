package repair

import (
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// besideID is the ID of the calls that [beside] returns. The first one keeps it, and [distinguish] gives new IDs to the others.
const besideID = "call_beside_text"

// notRun is the beginning of the arguments of the calls that [beside] returns. With it, the arguments are not a JSON object.
const notRun = "not run: "

// maxOpenings is the largest number of places in a text at which [beside] tries to read calls.
const maxOpenings = 20

// quoted matches the part of a line before a call if Markdown marks the call as a quotation: the line begins like a quotation or like
// indented code, or has a backtick anywhere before the call.
var quoted = regexp.MustCompile("^(?:>|\t| {4})|`")

// beside separates the tool calls at the beginning or at the end of a text from the other text. The calls are in the markup of a model, and
// each names one of the given tools. beside returns false in these cases:
//   - The text has no such calls.
//   - Markdown marks the calls as a quotation.
//   - After calls at the beginning, other text follows in the same line.
//   - Before calls at the end, the text has [maxOpenings] other places that look like the beginning of a call.
//
// The model may have copied the text from a file or a tool result, so the calls must never run. For this reason, beside makes their
// arguments invalid. The agent then refuses the calls, and the model can call the tools through the API. Without the calls, the text would
// be taken for the answer.
func beside(text string, tools []llm.ToolSpec) (calls []llm.ToolCall, other string, ok bool) {
	text = strings.TrimSpace(text)
	if opening.MatchString(text) {
		found, after := readCalls(text)
		if !strings.HasPrefix(strings.TrimLeft(after, " \t\r"), "\n") {
			return nil, "", false
		}
		calls, ok = refusedCalls(found, tools)
		return calls, strings.TrimSpace(after), ok
	}
	from, fences := 0, 0
	for range maxOpenings {
		at := anyOpening.FindStringIndex(text[from:])
		if at == nil {
			break
		}
		fences += strings.Count(text[from:from+at[0]], "```")
		start := from + at[0]
		line := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
		found, after := readCalls(text[start:])
		from = max(from+at[1], len(text)-len(after))
		if fences%2 == 0 && !quoted.MatchString(line) && len(found) > 0 && strings.TrimSpace(after) == "" {
			calls, ok = refusedCalls(found, tools)
			return calls, strings.TrimSpace(text[:start]), ok
		}
	}
	return nil, "", false
}

// refusedCalls converts calls into tool calls that the agent does not run. It returns false if there are no calls, or if one of them
// names none of the given tools.
func refusedCalls(found []spokenCall, tools []llm.ToolSpec) ([]llm.ToolCall, bool) {
	calls := toolCalls(found, tools, true)
	for i := range calls {
		call := &calls[i]
		call.ID, call.Arguments = besideID, notRun+call.Arguments
	}
	return calls, len(calls) > 0
}

// refusedBefore reports whether the last reply in a conversation had calls that [beside] returned.
func refusedBefore(messages []llm.Message) bool {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.Assistant {
			return len(m.ToolCalls) > 0 && m.ToolCalls[0].ID == besideID
		}
	}
	return false
}
