package endpoint

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrSilent means that a response stalled. When a [Silence] cancels a request, ErrSilent is the cause.
var ErrSilent = errors.New("the response stalled")

// AfterFinish is how long a client reads a stream after the finish reason. The reply is then complete, but the usage and the event
// [DONE] may follow.
const AfterFinish = 5 * time.Second

// Silence is the body of a response. It cancels the request if the endpoint sends nothing for too long during a call of
// [Silence.Read]. The time between calls does not count, because the endpoint is not responsible for it. After a call of
// [Silence.Closing], the time between calls counts, too. A Silence is not safe for concurrent use.
type Silence struct {
	body   io.Reader
	cancel context.CancelCauseFunc // cancels the request
	timer  *time.Timer
	limit  time.Duration // the longest time for one call of Read; 0 means no limit
	end    time.Time     // the time at which all reading must end; zero means no limit
}

// Read reads from the body. If the endpoint sends nothing for too long, Read cancels the request with [ErrSilent] as the
// cause.
func (s *Silence) Read(p []byte) (int, error) {
	limit := s.limit
	if !s.end.IsZero() {
		limit = max(time.Until(s.end), 1)
	}
	if limit > 0 {
		if s.timer == nil {
			s.timer = time.AfterFunc(limit, func() { s.cancel(ErrSilent) })
		} else {
			s.timer.Reset(limit)
		}
		defer s.timer.Stop()
	}
	return s.body.Read(p)
}

// LimitTo sets the longest time that each later call of [Silence.Read] may take; 0 means no limit.
func (s *Silence) LimitTo(limit time.Duration) { s.limit = limit }

// Closing sets the time at which all reading must end: `after` from now. Call it when the reply is complete. A call of [Silence.Read]
// that lasts beyond this time cancels the request. Another call of Closing does not move the time, unless [Silence.Reopen] was called
// before.
func (s *Silence) Closing(after time.Duration) {
	if s.end.IsZero() {
		s.end = time.Now().Add(after)
	}
}

// Reopen removes the time that [Silence.Closing] has set. Call it if more of the reply arrives although the reply seemed complete.
func (s *Silence) Reopen() { s.end = time.Time{} }
