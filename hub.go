package reagent

import (
	"context"
	"iter"
	"sync"

	"github.com/reagent-dev/reagent/activities"
)

// Streamer receives the replies of models chunk by chunk: see [activities.Streamer]. [Hub] is one.
type Streamer = activities.Streamer

// Chunk is a piece of a streamed reply: see [activities.Chunk].
type Chunk = activities.Chunk

// These are the ends of an attempt at a model call, for [Chunk].End.
const (
	// Committed means that the reply is complete and becomes a message of the transcript.
	Committed = activities.Committed
	// Discarded means that the attempt failed. Its chunks are no part of a reply.
	Discarded = activities.Discarded
)

// Hub is a [Streamer] that passes chunks to listeners in the same process. For example, each request to a web server can listen to
// one agent. The zero Hub is ready for use. A Hub is safe for concurrent use.
type Hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener receives the chunks for one call of [Hub.Listen].
type listener struct {
	// agentID is the ID of the agent; empty means all agents.
	agentID string
	// pieces buffers the chunks that the loop has not taken yet.
	pieces chan Chunk
	// missed is the number of chunks that were lost since the last one in the buffer.
	missed int
}

const (
	// hubBuffer is the number of chunks that a Hub buffers for each listener: see [Hub.Listen].
	hubBuffer = 1024
	// hubEnds is the number of chunks for which there is room beyond that if they have an End.
	hubEnds = 128
)

// Stream passes a chunk to the listeners of the chunk's agent, and to the listeners of all agents. Stream does not block: if
// the buffer of a listener is full, the listener misses the chunk. The end of an attempt at a model call has a place of its own.
func (h *Hub) Stream(p Chunk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.agentID != "" && l.agentID != p.AgentID {
			continue
		}
		room := hubBuffer
		if p.End != "" { // who misses it would wait for it
			room += hubEnds
		}
		if len(l.pieces) >= room { // only here do chunks come in, under the lock
			l.missed++
			continue
		}
		p.Missed = l.missed
		l.pieces <- p
		l.missed = 0
	}
}

// Listen returns a sequence of the chunks of an agent's replies. An empty ID means the replies of all agents. The sequence
// contains the chunks that arrive after the call of Listen, even before the loop over the sequence begins. It ends when the context
// ends or the loop is left. Use it in one loop only.
//
// It has room for 1024 chunks that the loop has not taken yet. While it is full, new chunks are lost, and the field Missed of the next
// chunk counts them. A chunk with an End still comes, unless 128 of them wait already. So a loop that is too slow learns that the reply is
// complete, and finds it whole in the transcript.
func (h *Hub) Listen(ctx context.Context, agentID string) iter.Seq[Chunk] {
	l := &listener{agentID: agentID, pieces: make(chan Chunk, hubBuffer+hubEnds)}
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
