package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Aside is a question about the work of an agent, which the model answers by a model call of its own. The question and the answer do
// not enter the transcript. Only the tokens and the cost are counted.
type Aside struct {
	// Run contains the last characters of the ID of the run that is asked. Another run refuses the question: after a reset,
	// Temporal delivers it again, and nobody waits for the answer.
	Run string `json:"run"`
	// Question is the text of the question, of at most 20,000 bytes.
	Question string `json:"question"`
}

// maxAsideBytes is the largest size of [Aside].Question, in bytes.
const maxAsideBytes = 20_000

// ErrNothingSaid means that there is no conversation yet about which one could ask.
var ErrNothingSaid = errors.New("the agent has no messages yet")

// errAsideInFlight means that an agent with a budget answers one question aside at a time.
var errAsideInFlight = errors.New("the agent is answering another question aside; it has a limit of tokens or cost, so ask again when that question has its answer")

// AcceptsAside returns an error if the agent does not answer the question now. The parameter `inFlight` is the number of other questions
// that wait for their answers. What an answer costs is known only afterwards. So an agent with a limit of tokens or cost answers one
// question at a time: questions at the same time pass the limit by one answer, and not by one each.
func (s *State) AcceptsAside(a Aside, inFlight int) error {
	switch {
	case strings.TrimSpace(a.Question) == "":
		return errors.New("the question is empty")
	case len(a.Question) > maxAsideBytes:
		return fmt.Errorf("the question has %d bytes; the limit is %d", len(a.Question), maxAsideBytes)
	case s.Outcome != nil:
		return ErrEnded
	case s.Definition == nil || s.Count() == 0:
		return ErrNothingSaid
	}
	if name, why := s.limit(); name == "tokens" || name == "cost" {
		return errors.New(why)
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
	// Question is the last message of the request. The others are the first messages that the next model call would send, except a
	// reply whose calls have no results yet.
	Question llm.Message
}

// AsideRequest returns the model call that answers the question.
func (s *State) AsideRequest(a Aside) AsideRequest {
	r := AsideRequest{Origin: s.SummaryIdentity(), Question: llm.Message{Role: llm.User, Content: textAside(a.Question, s.openCalls())}}
	chain, sent := s.TranscriptHash, s.SentCount()
	if len(s.Calls) > 0 {
		sent-- // an endpoint refuses calls without results
		chain = ""
		for i := range sent {
			chain = HashMessages(chain, s.Sent(i))
		}
	}
	r.Key, r.Count = r.Origin.Key(HashMessages(chain, r.Question)), sent+1
	return r
}

func (s *State) asideAnswered(e AsideAnswered) bool {
	s.Usage.Asides++
	s.charge(e.Usage.Bounded(), e.Candidate)
	return true
}
