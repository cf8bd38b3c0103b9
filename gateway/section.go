package gateway

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
)

// start says where a section begins: with a message, or after the waits of a round (see [agent.Waited]) of a reply.
type start struct {
	Message string    `json:"m,omitempty"`
	Reply   agent.Key `json:"r,omitempty"`
	Round   int       `json:"n,omitempty"`
}

// ending says how a section has ended.
type ending string

const (
	running   ending = ""
	answered  ending = "answered"
	waiting   ending = "waiting"   // for the client: see [section.stops]
	cut       ending = "cut"       // a message has released the turn that somebody had interrupted
	cancelled ending = "cancelled" // somebody has interrupted the turn
	failed    ending = "failed"
	refused   ending = "refused" // a guardrail has refused the message
)

// section is a part of the list of events: what answers one request. It begins with a message, or after waits, and ends with the next answer
// or with the next waits that the client can end. Which events belong to it follows from the list alone.
type section struct {
	from start
	// begun says that the beginning was read. message is the last message that began something, with what it says about the turn.
	begun   bool
	message *agent.Message
	// previous is where the section before this one began; nil if there is none.
	previous *start
	at       start // the section to which the events that are read belong

	// open is the last event if it ends the section unless another event follows.
	open *conversation.Event
	end  ending
	// asks are the waits with which the section has ended.
	asks []conversation.Event
	// messages is the number of messages of the transcript up to the end of the section.
	messages int
}

// clientTool reports whether the client runs the calls of a tool.
func (s *section) clientTool(name string) bool {
	if s.message == nil {
		return false
	}
	for _, t := range s.message.Overrides.ClientTools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// stops reports whether the client can end the wait: by a decision, an answer or the result of a client tool. Another result comes from
// somewhere else.
func (s *section) stops(e conversation.Event) bool {
	return e.Kind == conversation.Waits && (e.Wait.For != agent.WaitsForResult || s.clientTool(e.Call.Name))
}

// read reads the next event of the list, and reports whether it belongs to the section.
func (s *section) read(e conversation.Event) bool {
	if s.end != running || s.open != nil && !s.follows(e) {
		s.settle()
		return false
	}
	here, before := s.at, s.at
	switch {
	case e.Begins():
		here = start{Message: string(e.Message.Key)}
	case s.stops(e):
		here = start{Reply: e.Call.Reply, Round: e.Wait.Round}
	}
	if s.begun && e.Begins() {
		s.end = cut
		return false
	}
	if s.at = here; e.Begins() {
		s.message = e.Message
	}
	if !s.begun {
		if here == before || here != s.from {
			return false
		}
		if s.begun = true; before != (start{}) {
			s.previous = &before
		}
		return e.Begins() // waits belong to the section that they end
	}
	if s.stops(e) && here == s.from {
		return false // another wait of the round with which the section begins
	}
	s.messages = e.Position.Message + 1
	if s.stops(e) {
		s.asks = append(s.asks, e)
	}
	if e.Kind == conversation.Answer || s.stops(e) {
		s.open = &e
	}
	return true
}

// follows reports whether the section goes on with the event e, although the last event could end it.
func (s *section) follows(e conversation.Event) bool {
	if s.open.Kind == conversation.Answer {
		if e.Kind == conversation.Correction {
			s.open = nil
			return true
		}
		return false
	}
	return s.stops(e) && e.Call.Reply == s.open.Call.Reply && e.Wait.Round == s.open.Wait.Round
}

// settle says that no event follows for now: all that is recorded was read.
func (s *section) settle() {
	if s.open == nil || s.end != running {
		return
	}
	if s.end = waiting; s.open.Kind == conversation.Answer {
		s.end = answered
	}
}
