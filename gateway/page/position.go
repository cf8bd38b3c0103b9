package page

import (
	"fmt"

	"github.com/reagent-dev/reagent/conversation"
)

// position is the position of the last event that a reader has, as it stands in the header Last-Event-ID.
type position struct {
	conversation.Position
	// base is the index of the message from which the events can be read again: that of the reply, for results.
	base int
}

// before returns the position before the events of the message with the given index.
func before(index int) position {
	return position{conversation.Position{Message: index, Number: -1}, index}
}

// advance moves the position to an event, and reports whether the event comes after it.
func (p *position) advance(e conversation.Event) bool {
	if e.Position.Compare(p.Position) <= 0 {
		return false
	}
	p.Position = e.Position
	if e.Kind != conversation.Result {
		p.base = e.Position.Message
	}
	return true
}

func (p position) String() string { return fmt.Sprintf("%d.%d.%d", p.base, p.Message, p.Number) }

func parsePosition(text string) (position, error) {
	p := before(0)
	if text == "" {
		return p, nil
	}
	n, err := fmt.Sscanf(text, "%d.%d.%d", &p.base, &p.Message, &p.Number)
	if err != nil || n != 3 || p.base < 0 || p.Message < p.base || p.Number < -1 || p.String() != text {
		return p, badForm("The position of the last event is not valid.")
	}
	return p, nil
}
