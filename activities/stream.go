package activities

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Streamer receives the chunks of the replies of all model calls that this worker makes, when they arrive. Programs that
// embed a worker implement a Streamer to show text while the text grows. A Streamer receives no chunks of summaries and asides.
//
// Chunks are a preview. They never enter the history, and they are not redacted. The chunks of a failed attempt are not part of
// a reply.
//
// The goroutine that reads the reply calls Stream. Therefore Stream must return soon. Calls for different agents are
// concurrent.
type Streamer interface {
	Stream(Chunk)
}

// Chunk is a piece of a streamed reply.
type Chunk struct {
	// AgentID is the ID of the agent that made the model call.
	AgentID string
	// Key identifies the model call. The assistant's message in the transcript has the same key.
	Key agent.Key
	// Attempt is the number of the attempt at the model call, from 1. When chunks with a higher number arrive, the earlier
	// chunks of the call are discarded.
	Attempt int
	// Delta is the next piece of the reply. If its field Whole is set, it takes the place of the earlier pieces of its kind.
	Delta llm.Delta
	// End is set in the last chunk of an attempt, which has no delta. It is empty in all other chunks.
	End End
	// Missed is the number of chunks immediately before this one that a listener was too slow for: see Hub in package reagent.
	Missed int
}

// End says how an attempt at a model call ended.
type End string

const (
	// Committed means that the model's reply is complete and becomes a message of the transcript. The message may differ from
	// the chunks, because a complete reply is repaired and redacted.
	Committed End = "whole"
	// Discarded means that the attempt failed. Its chunks are not part of a reply. Another attempt may follow.
	Discarded End = "void"
)
