package progress

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Clock says how long the steps of an agent took. It knows this from the times of the messages, so the time of a step includes what the
// step waited for, such as a worker or a person. The zero Clock is ready for use.
type Clock struct {
	// Started is the time at which the newest run of the agent started. A step of this run did not begin earlier, even if the messages before
	// it are old, as in a fork. Zero means unknown.
	Started time.Time
	latest  int64            // the time of the newest message so far, in Unix milliseconds
	asked   map[string]int64 // the time of the reply with a call, by the ID of the call
}

// Took returns the duration of the model call that wrote the message m, or of the call whose result m is. Pass it the messages in the order of
// the transcript. The result is 0 for a message of a user, and if the duration is not known.
func (c *Clock) Took(m agent.Message) time.Duration {
	began := int64(0)
	switch {
	case m.Role == llm.Tool:
		began = c.asked[m.ToolCallID]
	case m.Role == llm.Assistant && !m.Notice:
		began = c.latest
		if c.asked == nil {
			c.asked = map[string]int64{}
		}
		for _, call := range m.ToolCalls {
			c.asked[call.ID] = m.Time
		}
	}
	c.latest = max(c.latest, m.Time)
	if began == 0 {
		return 0
	}
	if !c.Started.IsZero() && m.Time > c.Started.UnixMilli() {
		began = max(began, c.Started.UnixMilli())
	}
	return time.Duration(max(0, m.Time-began)) * time.Millisecond
}
