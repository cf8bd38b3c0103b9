package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// decide plays a person who settles each call that waits, until ctx ends. Two such people act at the same time. See [people].
func (c *chaos) decide(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) == nil {
		all, err := c.Client.Inbox(ctx)
		if err != nil {
			continue // the server may be down
		}
		for _, w := range all {
			c.people.decide(ctx, c.Client, w.AgentID, w.Call)
		}
	}
}

// judgePeople adds a problem for each effect that breaks what people have decided: see [people.breach].
func (c *chaos) judgePeople(v *Verdict, spans map[string]span) {
	for _, key := range slices.Sorted(maps.Keys(v.seen)) {
		all, id := v.seen[key], v.owners[key]
		if all[0].Tool != "wire" {
			continue
		}
		if text := c.people.breach(key, id, all, spans[key].scheduled, c.isForgotten(id)); text != "" {
			v.problemf("%s: wire %s: %s: %s", id, all[0].Arguments, text, key)
		}
	}
}

// judgePlaces adds a problem for each at-most-once tool that took effect twice at one place of the script, even under two keys. The
// script has no arguments in two places. There are two exceptions, because the agent may then take another way, on which the same
// call has another key: a run that knew of the call was deleted, or a turn was interrupted, and a reset takes the interrupt back.
func (c *chaos) judgePlaces(v *Verdict) {
	keys := map[string][]string{}
	for key, all := range v.seen {
		root, _, _ := strings.Cut(v.owners[key], "/")
		if all[0].Tool != "read" && !c.isForgotten(root) && !c.extras.wasInterrupted(root) {
			place := fmt.Sprintf("%s: %s %s", root, all[0].Tool, all[0].Arguments)
			keys[place] = append(keys[place], key)
		}
	}
	for place, all := range keys {
		if len(all) > 1 {
			slices.Sort(all)
			v.problemf("%s took effect under %d keys: %v", place, len(all), all)
		}
	}
}

// hearBackground checks the messages that brought results of sub-agents in the background. Each answer came once. In a task, each call
// whose sub-agent began to work in the background has such a message. The parameter lines is the whole transcript of the agent, unless
// cut is true.
func (c *chaos) hearBackground(v *Verdict, a cast, lines []line, cut bool) {
	started, answers := 0, map[string]int{}
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l.content, "started: the agent works in the background"):
			started++
		case strings.HasPrefix(l.content, backgroundResult):
			answers[l.content]++
		}
	}
	for text, n := range answers {
		if n > 1 && !strings.Contains(text, "error: ") {
			v.problemf("%s: it got %q %d times", a.id, text, n)
		}
	}
	if len(answers) < started && !cut && len(a.senders) == 0 && !c.extras.wasInterrupted(a.id) {
		v.problemf("%s: %d sub-agents worked in the background, and %d have answered: %v", a.id, started, len(answers), lines)
	}
	v.background += started
}
