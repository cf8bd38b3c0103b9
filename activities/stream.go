package activities

import (
	"context"
	"iter"
	"sync"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Streamer is told every piece of every reply of the models that this worker asks, at once. It is for
// programs that embed a worker and show text as it grows. Pieces are a preview: they never enter history, and
// those of an attempt that fails are void.
//
// Stream is called by the goroutine that reads the reply, so it has to return soon. It is called
// for many agents at the same time.
type Streamer interface {
	Stream(Chunk)
}

// Chunk is a piece of a reply.
type Chunk struct {
	AgentID string
	// Key is that of the model call; the assistant's message in the transcript has it too.
	Key agent.Key
	// Attempt counts from 1. What came with an earlier one is void.
	Attempt int
	Delta   llm.Delta
	// End is set in the last piece of an attempt, which has no delta.
	End End
	// Missed counts the pieces before this one that a slow listener did not get.
	Missed int
}

// End is the end of an attempt at a reply.
type End string

const (
	// Committed is the end of a reply: its message enters the transcript. That is what counts; it may differ
	// from the pieces, since replies are put right when they are whole.
	Committed End = "whole"
	// Discarded is the end of an attempt that failed: its pieces mean nothing. There may be another.
	Discarded End = "void"
)

// Hub is a [Streamer] that hands pieces to listeners in the same process. The zero Hub is ready for use.
type Hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

type listener struct {
	agentID string
	pieces  chan Chunk
	missed  int
}

// hubBuffer is the number of pieces by which a listener may lag behind.
const hubBuffer = 1024

// Stream hands a piece to those who listen to its agent. One that lags too far behind misses it.
func (h *Hub) Stream(p Chunk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.agentID != "" && l.agentID != p.AgentID {
			continue
		}
		p.Missed = l.missed
		select {
		case l.pieces <- p:
			l.missed = 0
		default:
			l.missed++
		}
	}
}

// Listen yields the pieces of an agent's replies, or of all agents' where the ID is empty, from the call on and until the
// context is done. It listens from the time of the call, not of the first iteration.
func (h *Hub) Listen(ctx context.Context, agentID string) iter.Seq[Chunk] {
	l := &listener{agentID: agentID, pieces: make(chan Chunk, hubBuffer)}
	h.mu.Lock()
	if h.listeners == nil {
		h.listeners = map[*listener]struct{}{}
	}
	h.listeners[l] = struct{}{}
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		delete(h.listeners, l)
		h.mu.Unlock()
	}
	context.AfterFunc(ctx, leave)
	return func(yield func(Chunk) bool) {
		defer leave()
		for {
			select {
			case p := <-l.pieces:
				if !yield(p) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
