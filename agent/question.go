package agent

import (
	"slices"
	"strconv"
	"strings"
)

// AskUser is the name of the tool with which a model asks a person. It is an external tool: see [EffectExternal]. Its result is the
// answer of the person.
const AskUser = "ask_user"

// Question is a question of the model to a person: the arguments of a call of [AskUser].
type Question struct {
	// Question is the text of the question.
	Question string `json:"question"`
	// Choices are the answers that the model proposes. The person may give another answer.
	Choices []string `json:"choices,omitempty"`
}

// Answer returns the answer that a person has typed. The number of a choice, counted from 1, stands for the choice. A text that is a choice
// itself, and every other text, is the answer as it is.
func (q Question) Answer(text string) string {
	typed := strings.TrimSpace(text)
	if slices.Contains(q.Choices, typed) {
		return text
	}
	for i, choice := range q.Choices {
		if typed == strconv.Itoa(i+1) {
			return choice
		}
	}
	return text
}

// QuestionSchema is the JSON schema of a [Question].
const QuestionSchema = `{"type":"object","properties":{` +
	`"question":{"type":"string","description":"The question, with all that the person needs to know to answer it."},` +
	`"choices":{"type":"array","items":{"type":"string"},"description":"Answers to choose from. The person may also answer something else."}},` +
	`"required":["question"],"additionalProperties":false}`

// Question returns the question that the call asks: that of its tool (see [Elicitation]), or that of the model in a call of [AskUser]. The
// second result is false if there is no such question, or if the arguments of [AskUser] cannot be read.
func (c *Call) Question() (Question, bool) {
	if c.elicits() {
		return Question{Question: textToolAsks(c.Name, c.Elicitation.Question), Choices: c.Elicitation.Choices}, true
	}
	var q Question
	if c.Name != AskUser || readArguments(c.Arguments, &q) != nil {
		return Question{}, false
	}
	return q, true
}

// checkQuestion says what is wrong with the arguments of a call of [AskUser]. It returns "" if they are a question.
func checkQuestion(arguments string) string {
	var q Question
	switch {
	case readArguments(arguments, &q) != nil:
		return "give {\"question\": …} with a text, and \"choices\" as a list of texts"
	case strings.TrimSpace(q.Question) == "":
		return "\"question\" is empty"
	}
	return ""
}

// AsksUser returns the key of the first open call, in the model's order, that waits for a person's answer: see [AskUser] and
// [Elicitation]. It returns "" if there is none. A call about which the driver still asks other runs does not count: see [Call].Search.
func (s *State) AsksUser() Key {
	if c := first(s.Calls, func(c *Call) bool { return c.WaitsFor() == WaitsForAnswer }); c != nil {
		return c.Key
	}
	return ""
}
