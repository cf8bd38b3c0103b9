package agent

import (
	"fmt"

	"github.com/reagent-dev/reagent/internal/clip"
)

// Actor says who has done something, for example who has sent a message or approved a call. It is a person or a program. The zero Actor
// says nothing. Only the audit trail and people read it: no hash includes it, and the model does not see it.
type Actor struct {
	// By names the person or the program, and From names the program and the machine. The client sets both, so they are stated and not
	// proved, unless ProvedBy is set.
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
	// ProvedBy says what has proved By. Empty means that nothing has. Nothing proves it yet, so an agent ignores what a sender sets: see
	// [Actor.Stated].
	ProvedBy string `json:"proved_by,omitempty"`
}

// Stated returns what the actor states, without a proof.
func (a Actor) Stated() Actor {
	a.ProvedBy = ""
	return a
}

// maxActorBytes is the largest size of [Actor].By and of [Actor].From, in bytes.
const maxActorBytes = 200

// checkActor returns an error if a field is too large. The parameter `of` says what the actor does.
func checkActor(of string, a Actor) error {
	if len(a.By) > maxActorBytes || len(a.From) > maxActorBytes {
		return fmt.Errorf("%s: the fields \"by\" and \"from\" may have at most %d bytes each; shorten them", of, maxActorBytes)
	}
	return nil
}

// sender returns the actor of a message that users sent; nil if the message does not name it.
func (m QueuedMessage) sender() *Actor {
	if a := cutActor(m.Stated()); a != (Actor{}) {
		return &a
	}
	return nil
}

func cutActor(a Actor) Actor {
	a.By, a.From = clip.Text(a.By, maxActorBytes), clip.Text(a.From, maxActorBytes)
	return a
}
