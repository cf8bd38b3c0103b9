package presence

import "time"

const (
	// maxGap is the longest time without an accepted heartbeat in which no worker can have found this one lost: see [lostAfter].
	maxGap = 1700 * time.Millisecond
	// decideWithin is the time after the request for a list in which a worker may act on it.
	decideWithin = time.Second
	// requestTimeout limits each request. So the calls of workers that a list shows as lost are returned within decideWithin +
	// requestTimeout after the request for the list.
	requestTimeout = time.Second
)

// gate says whether a call may begin, or another worker may have returned it to Temporal. It does no I/O, and reads no clock.
type gate struct {
	// tried is when the first heartbeat was sent. Temporal may have accepted it without an answer.
	tried time.Time
	// sent is when the last heartbeat that Temporal has accepted was sent. It is zero before the first.
	sent time.Time
	// settled is when the last worker has stopped returning calls after a gap in the heartbeats. It is zero if there was no gap.
	settled time.Time
	// shared says that a lost process may have had the same identity, so the first heartbeat counts as one after a gap.
	shared bool
}

// step is what has to happen before a call begins.
type step int

const (
	// begin: the call may begin.
	begin step = iota
	// beat: Temporal has to accept a heartbeat.
	beat
	// wait: the call has to wait until [gate].settled.
	wait
	// look: Temporal has to say that the call still belongs to this worker.
	look
)

// try notes that a heartbeat is sent.
func (g *gate) try(sent time.Time) {
	if g.tried.IsZero() {
		g.tried = sent
	}
}

// accepted notes a heartbeat that Temporal has accepted. If another worker may have found this one lost before it, calls may still be returned for a moment, because
// others decide by lists that were made before.
func (g *gate) accepted(sent, answered time.Time) {
	before := g.sent
	if before.IsZero() && !g.shared {
		before = g.tried
	}
	if since(answered, before) > maxGap {
		g.settled = answered.Add(decideWithin + requestTimeout)
	}
	g.sent = sent
}

// next returns what has to happen before a call begins. `contact` is the start of the last request that Temporal has answered by saying
// that the call belongs to this worker.
func (g *gate) next(now, contact time.Time) step {
	switch {
	case since(now, g.sent) > maxGap:
		return beat
	case now.Before(g.settled):
		return wait
	case contact.Before(g.settled):
		return look
	}
	return begin
}

// Age returns how long ago the given time was. It measures with the monotonic clock and with the wall clock, and returns the
// longer duration. The monotonic clock may stop while the machine sleeps, and the wall clock can be set back.
func Age(t time.Time) time.Duration { return since(time.Now(), t) }

func since(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
