package agent

import "slices"

// TurnUse says which model answered, and what the turn of the answer has used.
type TurnUse struct {
	// Model is the provider's name of the model: that of the last model call of the turn. It is empty if no model was called.
	Model string
	// Spending is what the agent and its sub-agents that have ended have used from the beginning of the turn to the answer.
	Spending
}

// AnswerUse returns what the turn has used that ended with the last of the messages. It is zero if this message is no answer.
func AnswerUse(messages []Message) TurnUse {
	if len(messages) == 0 || !messages[len(messages)-1].answers() {
		return TurnUse{}
	}
	use := TurnUse{Spending: messages[len(messages)-1].Spent}
	for i, m := range slices.Backward(messages) {
		switch {
		case i < len(messages)-1 && m.answers() && !corrected(messages, i): // the answer of an earlier turn
			return use
		case m.Model != "":
			use.Model = m.Model
			return use
		}
	}
	return use
}
