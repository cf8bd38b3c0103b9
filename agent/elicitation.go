package agent

// Elicitation is a question that a tool asks a person while it works on a call. MCP calls such a question an elicitation. The tool has
// then returned, and no process waits: the call waits as state. When a person has answered, the tool is called again with the answer.
type Elicitation struct {
	// Question is the question, as a text for the person.
	Question string `json:"question,omitempty"`
	// Choices are the answers that the tool proposes. The person may give another answer.
	Choices []string `json:"choices,omitempty"`
	// State is what the tool needs to go on. Only the tool understands it.
	State string `json:"state,omitempty"`
	// Answer is the answer of the person; nil while the question is open. If IsError is true, the person declines to answer.
	Answer *GivenResult `json:"answer,omitempty"`
	// Round is the number of this question among the questions of the call, from 1.
	Round int `json:"round,omitempty"`
}

const (
	// maxRounds is the largest number of questions that a tool asks about one call.
	maxRounds = 10
	// MaxElicitationBytes limits the fields Question, Choices and State of an [Elicitation] together, in bytes.
	MaxElicitationBytes = 200_000
)

// elicits reports whether the tool of the call has asked a person, and waits for the answer.
func (c *Call) elicits() bool { return c.Elicitation != nil && c.Elicitation.Answer == nil }

// elicit stores the question e of the call's tool. The call then waits for the answer. There are two exceptions:
//
//   - After [maxRounds] questions, the call gets an error result.
//   - After a reset, the state may already have the answer. elicit then applies it at once.
func (s *State) elicit(c *Call, e Elicitation, now int64) {
	e.Round = 0
	if c.Elicitation != nil {
		e.Round = c.Elicitation.Round
	}
	if e.Round++; e.Round > maxRounds {
		c.Result = &Result{Content: textTooManyQuestions(maxRounds), Kind: Errored, Time: now}
		return
	}
	e.Answer, c.Elicitation, c.Wait = nil, &e, CallWait{For: WaitsForAnswer}
	s.settle(c, now)
}

// answerElicitation gives the call the answer of a person. The call runs again, under a new key.
func (s *State) answerElicitation(c *Call, answer GivenResult) {
	e := *c.Elicitation // a copy of the state may share the old one
	e.Answer, c.Elicitation = &answer, &e
	c.Key = s.AnsweredKey(c.Key, answer)
}
