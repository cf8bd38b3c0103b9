package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent is the cause of the cancellation if a request is cancelled because its response stalls.
var errSilent = errors.New("the response stalled")

// afterFinish is how long the client reads a stream after the finish reason. The reply is complete then, but the usage and the
// end mark may follow.
const afterFinish = 5 * time.Second

// silence is the body of a response. It cancels the request if one call of Read takes too long. Time between the calls of Read
// does not count, because the endpoint is not responsible for it. It is not safe for concurrent use.
type silence struct {
	body   io.Reader
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // the limit of one Read; 0 means no limit
	end    time.Time     // when reading must end; zero means no limit
}

// newSilence returns a silence that reads from the parameter body and has no limits yet. To cancel the request, the silence
// calls the function cancel.
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

// closing sets the time at which reading must end to the current time plus afterFinish. If a call of Read has not returned
// by this time, Read cancels the request. Later calls of closing have no effect.
func (s *silence) closing() {
	if s.end.IsZero() {
		s.end = time.Now().Add(afterFinish)
	}
}
