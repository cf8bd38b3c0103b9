package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Aside is a person's question about the agent's work, which a separate model call answers. Neither the question nor the answer enters
// the transcript. The state counts only the tokens and the cost.
type Aside struct {
	// Run contains the last characters of the ID of the run that the person asks. Every other run refuses the question. After a reset,
	// Temporal delivers the question again, to the new run, but nobody waits for its answer any more.
	Run string `json:"run"`
	// Question is the text of the question, of at most 20,000 bytes.
	Question string `json:"question"`
}

const maxAsideBytes = 20_000

// ErrNothingSaid means that the agent has no definition or no messages yet, so there is nothing to ask about.
var ErrNothingSaid = errors.New("the agent has not begun its work yet, so there is nothing to ask about; ask again later")

var errAsideJudged = errors.New("the agent has guardrails, which do not judge questions aside; send a message instead")

// errAsideInFlight means that an agent with a limit of tokens or cost answers one aside at a time: see [State.AcceptsAside].
var errAsideInFlight = errors.New("the agent is answering another question aside; it has a limit of tokens or cost, so ask again when that question has its answer")

// AcceptsAside returns an error if the agent does not answer the question now. The parameter `inFlight` is the number of other asides
// that wait for their answers. The agent does not answer in these cases:
//
//   - The question is empty or too long.
//   - The agent has ended ([ErrEnded]), or has no definition or no messages yet ([ErrNothingSaid]).
//   - The agent has guardrails, which do not judge asides.
//   - The agent has reached its limit of tokens or cost.
//   - The agent has such a limit, and another aside is in flight. The cost of an answer is known only afterwards, so each aside in
//     flight may pass the limit by one answer.
func (s *State) AcceptsAside(a Aside, inFlight int) error {
	switch {
	case strings.TrimSpace(a.Question) == "":
		return errors.New("the question is empty; write a question")
	case len(a.Question) > maxAsideBytes:
		return fmt.Errorf("the question has %d bytes; the limit is %d: shorten the question", len(a.Question), maxAsideBytes)
	case s.Outcome != nil:
		return ErrEnded
	case s.Definition != nil && (len(s.Definition.Guardrails.Messages) > 0 || len(s.Definition.Guardrails.Answers) > 0):
		return errAsideJudged
	case s.Definition == nil || s.Count() == 0:
		return ErrNothingSaid
	}
	if r := s.limit(); r.name == "tokens" || r.name == "cost" {
		return errors.New(r.why)
	}
	if inFlight > 0 && s.bounds() != (Grant{}) {
		return errAsideInFlight
	}
	return nil
}

// AsideRequest is the model call that answers an [Aside].
type AsideRequest struct {
	// Key is the key of the model call.
	Key Key
	// Origin is the part of the key that does not depend on the messages.
	Origin ModelIdentity
	// Count is the number of messages in the request, without the system message.
	Count int
	// Question is the last message of the request. Before it, the request has the messages of the next model call. A last reply is left
	// out if its calls do not all have their results yet.
	Question llm.Message
}

// AsideRequest returns the model call that answers the question. Call it only if [State.AcceptsAside] returns nil. Without a definition,
// it panics.
func (s *State) AsideRequest(a Aside) AsideRequest {
	r := AsideRequest{Origin: s.SummaryIdentity(), Question: llm.Message{Role: llm.User, Content: textAside(a.Question, s.Pending())}}
	chain, sent := s.TranscriptHash, s.SentCount()
	if len(s.Calls) > 0 {
		sent-- // an endpoint refuses calls without results
		chain = s.hashSent(sent)
	}
	r.Key, r.Count = r.Origin.Key(HashMessages(chain, r.Question)), sent+1
	return r
}

func (e AsideAnswered) apply(s *State) bool {
	s.Usage.Asides++
	s.charge(e.Usage.Bounded(), e.Candidate)
	return true
}
