package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent is the cause with which a [silence] cancels a request whose response stalls.
var errSilent = errors.New("the response stalled")

// afterFinish is how long the client reads a stream after the finish reason. The reply is complete then, but the usage and the
// end mark may follow.
const afterFinish = 5 * time.Second

// silence is the body of a response. It cancels the request if the endpoint sends nothing for too long while Read waits. The
// time between calls of Read does not count until closing is called, because the endpoint is not responsible for this time. A
// silence is not safe for concurrent use.
type silence struct {
	body   io.Reader
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // the limit of one Read; 0 means no limit
	end    time.Time     // when reading must end; zero means no limit
}

// newSilence returns a silence for the body of a response. It has no limits yet. It cancels the request with the given function
// (cancel).
func newSilence(body io.Reader, cancel context.CancelCauseFunc) *silence {
	return &silence{body: body, cancel: cancel}
}

// Read reads from the body. If this takes too long, it cancels the request with errSilent as the cause.
func (s *silence) Read(p []byte) (int, error) {
	limit := s.limit
	if !s.end.IsZero() {
		limit = max(time.Until(s.end), 1)
	}
	if limit > 0 {
		if s.timer == nil {
			s.timer = time.AfterFunc(limit, func() { s.cancel(errSilent) })
		} else {
			s.timer.Reset(limit)
		}
		defer s.timer.Stop()
	}
	return s.body.Read(p)
}

// limitTo sets the limit for each of the following calls of Read.
func (s *silence) limitTo(limit time.Duration) { s.limit = limit }

// closing limits all further reading to the duration afterFinish from now. Call it when the reply is complete. If a call of
// Read has not returned by then, Read cancels the request. Only the first call of closing has an effect.
func (s *silence) closing() {
	if s.end.IsZero() {
		s.end = time.Now().Add(afterFinish)
	}
}
