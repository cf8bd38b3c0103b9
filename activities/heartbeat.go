package activities

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// heartbeat tells the server that an activity lives, and keeps in the heartbeat's
// details, which the next attempt can read, how often its effect was tried. Temporal's own
// count also has the attempts that never came to it.
type heartbeat struct {
	ctx  context.Context
	done chan struct{}
	wait sync.WaitGroup

	mu    sync.Mutex
	tried Progress
}

// Progress is what the heartbeats of a model or tool call tell.
type Progress struct {
	// Tried is how often the effect was tried, this time included.
	Tried int `json:"tried"`
	// Empty are the replies that said nothing, of all attempts so far.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Candidate counts the changes from one model to the next, Refused holds those of which no answer is to be had.
	Candidate int   `json:"candidate,omitempty"`
	Refused   []int `json:"refused,omitempty"`
	// Text is the end of what the model has said so far, for people, and Said the number of bytes of all of it.
	Text string `json:"text,omitempty"`
	Said int    `json:"said,omitempty"`
	// Attempt is Temporal's number of the attempt that said it. The next attempt begins with the details
	// of the last: what they say is void as soon as the numbers differ.
	Attempt int32 `json:"attempt,omitempty"`
}

// maxProgressBytes bounds the words in a heartbeat.
const maxProgressBytes = 2000

func startHeartbeat(ctx context.Context) *heartbeat {
	h := &heartbeat{ctx: ctx, done: make(chan struct{})}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be read are those of another version: counted anew.
		_ = activity.GetHeartbeatDetails(ctx, &h.tried)
	}
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 {
		return h
	}
	h.wait.Go(func() {
		ticker := time.NewTicker(timeout / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				h.record()
			case <-h.done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return h
}

// attempt counts one try of the effect and returns its number, from 1.
func (h *heartbeat) attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Tried++
	h.tried.Text, h.tried.Said = "", 0 // what an earlier attempt said is void
	h.tried.Attempt = activity.GetInfo(h.ctx).Attempt
	return h.tried.Tried
}

// empty counts a reply that said nothing, and returns those so far.
func (h *heartbeat) empty(usage llm.Usage) agent.EmptyReplies {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Empty = h.tried.Empty.Add(usage)
	return h.tried.Empty
}

// hear takes a piece of what the model says.
func (h *heartbeat) hear(d llm.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried.Said += len(d.Text)
	text := h.tried.Text + d.Text
	if extra := len(text) - maxProgressBytes; extra > 0 {
		text = strings.ToValidUTF8(text[extra:], "")
	}
	h.tried.Text = text
}

func (h *heartbeat) record() {
	h.mu.Lock()
	tried := h.tried
	h.mu.Unlock()
	activity.RecordHeartbeat(h.ctx, tried)
}

// keep leaves the count to the next attempt and returns it. It is for an activity that is about to
// fail; one that succeeds spares the server the call.
func (h *heartbeat) keep() int {
	h.record()
	return h.tried.Tried
}

// stop ends the heartbeats.
func (h *heartbeat) stop() {
	close(h.done)
	h.wait.Wait()
}
