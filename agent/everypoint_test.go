package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// atEveryPoint lives the first steps of many lives, with one step more each time, and then calls the given function (happens). If
// happens returns true, the life goes on until the agent rests. It requires that happens returns true for many points. It leaves out
// the lives in which it never does.
func atEveryPoint(t *testing.T, happens func(l *life) bool, rests func(l *life)) {
	const steps = 40
	points := 0
	for seed := uint64(0); points < 75; seed++ {
		require.Less(t, seed, uint64(2000), "the event happens too rarely")
		happened := false
		for step := steps; step > 0; step-- {
			l := newLife(seed)
			func() {
				defer func() {
					if found := recover(); found != nil {
						t.Fatalf("seed %d, after %d steps: %v\n\n%s", seed, step, found, l.story())
					}
				}()
				for range step {
					l.now += l.r.Int64N(5000)
					l.begin()
					l.happen()
				}
				if !happens(l) {
					return
				}
				happened, points = true, points+1
				l.live(0)
				rests(l)
			}()
			if !happened && step < steps-5 {
				break
			}
		}
	}
}

// An interrupt stops every turn at every point. Nothing runs until a message comes. The message is taken.
func TestInterruptAtEveryPoint(t *testing.T) {
	t.Parallel()
	atEveryPoint(t, func(l *life) bool {
		if l.s.AcceptsInterrupt() != nil {
			return false
		}
		l.apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(l.now))
		l.begin()
		switch step := l.s.Next().(type) {
		case agent.RunTools:
			if runs := step.Running(agent.CallsAtOnce, func(agent.Call) bool { return false }); len(runs) > 0 {
				l.law.brokenf("after the interrupt, these calls run: %#v", runs)
			}
		case agent.CallModel, agent.Compact:
			l.law.brokenf("after the interrupt, the next step is %#v", step)
		}
		if l.s.AcceptsInterrupt() == nil && l.s.Hold == nil {
			l.law.brokenf("the turn goes on")
		}
		l.apply(agent.MessageReceived{Time: l.now, Message: agent.QueuedMessage{ID: "after", Text: "rather this"}})
		return true
	}, func(l *life) {
		if l.s.RefusedMessage("after") == nil && l.s.Outcome == nil && l.s.Hold == nil && !slices.ContainsFunc(l.s.Messages, func(m agent.Message) bool { return m.Key == "after" }) {
			l.law.brokenf("the message after the interrupt was not taken")
		}
	})
}

// The result of a sub-agent in the background comes once, at whatever point of the parent's turn, of its compaction, or after its turn.
func TestBackgroundResultAtEveryPoint(t *testing.T) {
	t.Parallel()
	atEveryPoint(t, func(l *life) bool {
		for _, c := range l.s.Children {
			if c.Attachment != agent.ChildInBackground || c.Phase.Ended() || l.s.Outcome != nil || l.s.Definition == nil {
				continue
			}
			delete(l.flights, c.Key)
			l.ended[c.Key] = agent.ChildAnswered(fmt.Sprintf("<%s>", c.Key), l.now)
			l.apply(l.childEnded(c.Key))
			return true
		}
		return false
	}, func(l *life) {
		for key, result := range l.ended {
			asMessage, told := 0, 0
			for _, m := range l.s.Messages {
				n := strings.Count(m.Content, "<"+string(key)+">")
				if told += n; m.Role == llm.User {
					asMessage += n
				}
			}
			// The model may ask for the result again by the handle of the sub-agent.
			if strings.Contains(result.Content, "<") && (told == 0 || asMessage > 1) && l.s.Outcome == nil && l.s.Hold == nil {
				l.law.brokenf("the result of %s was told %d times, %d times as a message", key, told, asMessage)
			}
		}
	})
}
