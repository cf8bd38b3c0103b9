package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
)

// turn measures a turn from its beginning to its end, if this chat has seen both.
type turn struct {
	// began is the time at which the agent began to work; zero means that no turn is measured. before is what the agent had used then.
	began  time.Time
	before agent.Spending
	// took is the duration of a turn that has ended; 0 means that it has not ended. last is the last item of the turn.
	took time.Duration
	last *item
}

// measure takes a report of the status. `rested` says whether the agent rested before it.
func (c *conversation) measure(rested bool) {
	switch rests := c.rests(); {
	case rested && !rests:
		c.turn = turn{began: c.now, before: c.snap.Usage.Spent()}
	case !rested && rests && !c.turn.began.IsZero() && len(c.items) > 0:
		c.turn.took, c.turn.last = c.now.Sub(c.turn.began), c.items[len(c.items)-1]
	}
}

// tellTurn adds the time, the cost and the tokens of a turn that has ended, below its last item. It runs after each refresh, because only a
// refresh reads the cost.
func (c *conversation) tellTurn() {
	at := slices.Index(c.items, c.turn.last)
	if c.turn.took <= 0 || at < 0 {
		return
	}
	spent := c.snap.Usage.Spent()
	parts := []string{tookText(c.turn.took)}
	if cost := spent.Cost - c.turn.before.Cost; cost > 0 {
		parts = append(parts, cost.String())
	}
	if tokens := spent.Tokens() - c.turn.before.Tokens(); tokens > 0 {
		parts = append(parts, grouped(tokens)+" tokens")
	}
	c.items = slices.Insert(c.items, at+1, &item{kind: turnItem, index: -1, text: strings.Join(parts, " · ")})
	c.turn = turn{}
}

func tookText(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// keepUnfinished keeps the text of a reply that will not come any more, because the turn was interrupted or has failed.
func (c *conversation) keepUnfinished() {
	p := c.unfinished
	if c.unfinished = nil; p == nil {
		return
	}
	text := strings.TrimRight(p.Text, "\n")
	if p.Said > len(p.Text) {
		text = "…" + text
	}
	c.items = append(c.items, &item{
		kind: cutItem, index: -1, text: text,
		result: fmt.Sprintf("(this reply ended after %s bytes; the agent does not keep it)", grouped(max(len(p.Text), p.Said))),
	})
}
